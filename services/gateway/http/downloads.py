"""A run's report, and its accepted conversations in other formats, made when they are asked for."""

import asyncio
import os
import resource
import shutil
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from soliloquy.dataset.storage import Storage
from soliloquy.runtime.failure import Failure
from soliloquy.v1.gateway_pb2 import GetRunRequest
from soliloquy_services.gateway.datasets import stored
from soliloquy_services.gateway.http.files import CHUNK_BYTES, attachment, formats
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.validation import Code, Refusal

REPORT = "report"
# Runs that are under way come first.
_NICENESS = 10


def produce(place: str, kind: str, out: Path) -> None:
    """Raises Failure and OSError."""
    # Imported here because they load Arrow, and the gateway's own process imports this module for its constant.
    from soliloquy.dataset.exports.exporting import export
    from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, find
    from soliloquy.dataset.reading import Dataset
    from soliloquy.dataset.report.writing import write_report
    from soliloquy.problems.bank.bank import catalogue

    dataset = Dataset(place)
    if kind == REPORT:
        write_report(dataset, out, catalogue)
        return
    form = find(kind)
    if not isinstance(form, FolderFormat):
        export(dataset, kind, out, choice=ExportOptions())
        return
    folder = out.with_suffix("")
    export(dataset, kind, folder, choice=ExportOptions())
    shutil.make_archive(str(folder), "zip", folder)


def main() -> None:
    place, kind, out, most_bytes = sys.argv[1:]
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most_bytes), int(most_bytes)))
    try:
        produce(place, kind, Path(out))
    except (Failure, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadLimits:
    conversations: int
    bytes: int
    seconds: int
    at_once: int


LIMITS = DownloadLimits(**tomllib.loads(Path(__file__).parents[1].joinpath("downloads.toml").read_text("utf-8")))
_BUSY_SECONDS = 5.0
_LOOK_SECONDS = 1.0


class Downloads:
    def __init__(self, gateway: Gateway, datasets: str | None) -> None:
        """`datasets` is None where the gateway sees no datasets: then nothing can be downloaded."""
        self._gateway = gateway
        self._datasets = datasets
        self._free = LIMITS.at_once

    def routes(self) -> tuple[HttpRoute, ...]:
        media = "application/octet-stream"
        return (
            HttpRoute("GET", "/v1/runs/{run}/report", "GetReport", self.report, media=media),
            HttpRoute("GET", "/v1/runs/{run}/exports/{format}", "GetExport", self.export, media=media),
        )

    async def report(self, context: RequestContext) -> Response:
        """A page with the statistics and the conversations of a run, to be opened without a network."""
        return await self._answer(context, REPORT, ".html")

    async def export(self, context: RequestContext) -> Response:
        """The accepted conversations of a run in another format; GET /v1/choices lists the formats."""
        name = context.path_parameter("format")
        offered = {choice.name: choice for choice in await asyncio.to_thread(formats)}
        if name not in offered:
            raise Refusal(Code.UNKNOWN, f"there is no format {name[:80]!r}: use one of {', '.join(offered)}")
        return await self._answer(context, name, offered[name].suffix)

    async def _answer(self, context: RequestContext, kind: str, suffix: str) -> Response:
        run = context.path_parameter("run")
        # Refuses anything that is not a run before its name becomes a path.
        await self._gateway.get_run(GetRunRequest(run=run))
        place = f"{self._datasets}/{run}"
        await self._check_size(run, place, kind)
        headers = attachment(f"{run}-{kind}{suffix}")
        if context.request.method == "HEAD":
            return Response(headers=headers)
        if not self._free:
            line = f"{LIMITS.at_once} downloads are being prepared: try again in a moment"
            raise Refusal(Code.TOO_MANY, line, retry_after=_BUSY_SECONDS)
        self._free -= 1
        try:
            file, size = await self._produced(context.request, run, place, kind, suffix)
        finally:
            self._free += 1
        headers["content-length"] = str(size)
        return StreamingResponse(_chunks(file), headers=headers, media_type="application/octet-stream")

    async def _check_size(self, run: str, place: str, kind: str) -> None:
        count = await asyncio.to_thread(stored, Storage(place)) if self._datasets else 0
        if not count:
            because = "no conversation of it is written yet" if self._datasets else "the gateway sees no datasets"
            raise Refusal(Code.UNKNOWN, f"run {run} has no dataset to download: {because}")
        if count > LIMITS.conversations:
            command = "soliloquy report DIR" if kind == REPORT else f"soliloquy export DIR --format {kind} --out FILE"
            raise Refusal(
                Code.INVALID,
                f"run {run} has {count:,} conversations, and a download at most {LIMITS.conversations:,}: "
                f"run `{command}` where its dataset is",
            )

    async def _produced(self, request: Request, run: str, place: str, kind: str, suffix: str) -> tuple[BinaryIO, int]:
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="soliloquy-download-"))
        out = folder / f"{kind}{suffix}"
        arguments = (place, kind, str(out), str(LIMITS.bytes))
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "soliloquy_services.gateway.http.downloads", *arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            error = await self._error(request, process)
            if process.returncode:
                # Callers need not know where the folder is.
                told = error.strip().replace(place, f"run {run}").splitlines() or ["it ended without a message"]
                raise Refusal(Code.UNAVAILABLE, f"run {run} cannot be written as {kind} ({told[-1][:300]})")
            return out.open("rb"), out.stat().st_size
        finally:
            # An open file can be read to its end.
            await asyncio.to_thread(shutil.rmtree, folder)

    async def _error(self, request: Request, process: asyncio.subprocess.Process) -> str:
        """Waits for the process, and ends it when its caller leaves or its time is over."""
        telling = asyncio.ensure_future(process.communicate())
        try:
            async with asyncio.timeout(LIMITS.seconds):
                while not telling.done():
                    await asyncio.wait({telling}, timeout=_LOOK_SECONDS)
                    if await request.is_disconnected():
                        process.kill()
        except TimeoutError:
            raise Refusal(Code.UNAVAILABLE, f"the download took longer than {LIMITS.seconds} s") from None
        finally:
            if process.returncode is None:
                process.kill()
            _, error = await telling
        return error.decode("utf-8", "replace")


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    with closing(file):
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk
