"""A run's dataset over HTTP: its files, its report, and its accepted conversations in other formats."""

import asyncio
import os
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from soliloquy.dataset.layout import KINDS, PROMPTS, TABLES
from soliloquy.dataset.manifest import (
    MANIFEST,
    Shard,
    ShardList,
    UnreadableManifest,
    conversations_of,
    lists_of,
    read_manifest,
    shards_of,
)
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.packages import known_recipes, packages
from soliloquy.runtime.extensions import BadPackage
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import table_beside
from soliloquy.v1.gateway_pb2 import GetRunRequest
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.service import Gateway

REPORT = "report"
BINARY = "application/octet-stream"
CHUNK_BYTES = 256 * 1024
# Runs that are under way come first.
_NICENESS = 10
_BUSY_SECONDS = 5.0
_LOOK_SECONDS = 1.0
# A manifest cannot name files outside its folder.
_NAME = re.compile(r"[a-z]+/\w[\w.-]*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    # Includes its folder: accepted/00000.parquet.
    name: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    files: Sequence[File]


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatChoice:
    name: str
    title: str
    # The end of the file's name; a format that is a folder is sent as one file.
    suffix: str
    # The only recipe whose conversations it holds; empty for a format of all recipes.
    recipe: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadLimits:
    conversations: int
    bytes: int
    seconds: int
    at_once: int


LIMITS = DownloadLimits(**table_beside(__file__, "downloads.toml"))


class Downloads:
    def __init__(self, gateway: Gateway, datasets: str | None) -> None:
        """`datasets` is None where the gateway sees no datasets: then nothing can be downloaded."""
        self._gateway = gateway
        self._datasets = datasets
        self._free = LIMITS.at_once

    def routes(self) -> tuple[HttpRoute, ...]:
        run = "/v1/runs/{run}"
        return (
            HttpRoute("GET", f"{run}/files", "ListFiles", self.list_files, answer=Files),
            HttpRoute("GET", f"{run}/files/{{name:path}}", "GetFile", self.file, media=BINARY),
            HttpRoute("GET", f"{run}/report", "GetReport", self.report, media=BINARY),
            HttpRoute("GET", f"{run}/exports/{{format}}", "GetExport", self.export, media=BINARY),
        )

    async def list_files(self, context: RequestContext) -> Files:
        """The files of a run's dataset; none where the gateway does not see it, or where it is rows of a table."""
        run, place = await self._place(context)
        return Files(files=await _listed(run, place) if place else [])

    async def file(self, context: RequestContext) -> Response:
        """One file of a run's dataset."""
        run, place = await self._place(context)
        name, listing = context.path_parameter("name"), await _listed(run, place) if place else []
        file = next((file for file in listing if file.name == name), None)
        if place is None or file is None:
            line = f"run {run} has no file {name[:80]!r}: GET /v1/runs/{{run}}/files lists them"
            raise Refusal(Code.UNKNOWN, line)
        # Only as many bytes as were listed are sent, because a manifest may be rewritten meanwhile.
        return _attached(_content(Storage(place), file), name.replace("/", "-"), file.size)

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

    async def _place(self, context: RequestContext) -> tuple[str, str | None]:
        """Returns the run and where its dataset is; refuses what is no run before its name becomes a path."""
        run = context.path_parameter("run")
        await self._gateway.get_run(GetRunRequest(run=run))
        return run, f"{self._datasets}/{run}" if self._datasets else None

    async def _answer(self, context: RequestContext, kind: str, suffix: str) -> Response:
        run, place = await self._place(context)
        count = await asyncio.to_thread(_stored, place) if place else 0
        if not count:
            because = "no conversation of it is written yet" if place else "the gateway sees no datasets"
            raise Refusal(Code.UNKNOWN, f"run {run} has no dataset to download: {because}")
        if count > LIMITS.conversations:
            command = "soliloquy report DIR" if kind == REPORT else f"soliloquy export DIR --format {kind} --out FILE"
            raise Refusal(
                Code.INVALID,
                f"run {run} has {count:,} conversations, and a download at most {LIMITS.conversations:,}: "
                f"run `{command}` where its dataset is",
            )
        name = f"{run}-{kind}{suffix}"
        if context.request.method == "HEAD":
            return Response(headers=_headers(name))
        if not self._free:
            line = f"{LIMITS.at_once} downloads are being prepared: try again in a moment"
            raise Refusal(Code.TOO_MANY, line, retry_after=_BUSY_SECONDS)
        self._free -= 1
        try:
            file, size = await self._produced(context.request, run, kind, suffix)
        finally:
            self._free += 1
        return _attached(_chunks(file, size), name, size)

    async def _produced(self, request: Request, run: str, kind: str, suffix: str) -> tuple[BinaryIO, int]:
        place = f"{self._datasets}/{run}"
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="soliloquy-download-"))
        out = folder / f"{kind}{suffix}"
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "soliloquy_services.gateway.http.downloads"),
                *(place, kind, str(out), str(LIMITS.bytes)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            error = await _error(request, process)
            if process.returncode:
                # Callers need not know where the folder is.
                told = error.strip().replace(place, f"run {run}").splitlines() or ["it ended without a message"]
                raise Refusal(Code.UNAVAILABLE, f"run {run} cannot be written as {kind} ({told[-1][:300]})")
            return out.open("rb"), out.stat().st_size
        finally:
            # An open file can be read to its end.
            await asyncio.to_thread(shutil.rmtree, folder)


async def _error(request: Request, process: asyncio.subprocess.Process) -> str:
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


def formats() -> list[FormatChoice]:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.exports.format import FORMATS, NAMES, find

    found = []
    for name in NAMES:
        try:
            form = find(name)
        except BadPackage:
            # `soliloquy export --help` says what is wrong with it.
            continue
        suffix = form.suffixes[0] if form.suffixes else ".zip"
        module = FORMATS.value(name)
        recipe = next(
            (recipe for recipe in known_recipes() if module.startswith(tuple(f"{each}." for each in packages(recipe)))),
            "",
        )
        found.append(FormatChoice(name=name, title=form.title, suffix=suffix, recipe=recipe))
    return found


async def _listed(run: str, place: str) -> Sequence[File]:
    try:
        return await asyncio.to_thread(_files, place)
    except UnreadableManifest as error:
        # No retry helps.
        raise Refusal(Code.UNKNOWN, f"run {run} has no readable dataset ({error})") from error
    except OSError as error:
        raise Refusal(Code.UNAVAILABLE, f"the files of run {run} cannot be read ({error})") from error


def _stored(place: str) -> int:
    """Counts the conversations in a dataset; 0 for one that cannot be read."""
    try:
        if place.startswith(TABLES):
            # It loads Arrow, which no start should wait for.
            from soliloquy.dataset.reading import Dataset

            dataset = Dataset(place)
            return dataset.count() + dataset.count(rejected=True)
        manifest = read_manifest(Storage(place))
    except (OSError, Failure):
        return 0
    return conversations_of(manifest) if manifest else 0


def _files(place: str) -> list[File]:
    """The manifest and the shards that it names; the files of a table hold parts of many runs."""
    if place.startswith(TABLES) or (manifest := read_manifest(storage := Storage(place))) is None:
        return []
    named: list[Shard | ShardList] = [*lists_of(manifest), *shards_of(manifest, *KINDS, PROMPTS)]
    files = [File(name=one.name, size=one.bytes) for one in named if _NAME.fullmatch(one.name)]
    return [File(name=MANIFEST, size=len(storage.read(MANIFEST) or b"")), *files]


def _headers(name: str) -> dict[str, str]:
    """Returns the headers of a file that a browser saves under this name."""
    return {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}


def _attached(content: AsyncIterator[bytes], name: str, size: int) -> Response:
    return StreamingResponse(content, headers={"content-length": str(size), **_headers(name)}, media_type=BINARY)


async def _content(place: Storage, file: File) -> AsyncIterator[bytes]:
    with ExitStack() as opened:
        source = await asyncio.to_thread(opened.enter_context, place.opened(file.name))
        async for chunk in _chunks(source, file.size):
            yield chunk


async def _chunks(file: BinaryIO, size: int) -> AsyncIterator[bytes]:
    with closing(file):
        while size and (chunk := await asyncio.to_thread(file.read, min(size, CHUNK_BYTES))):
            size -= len(chunk)
            yield chunk


def produce(place: str, kind: str, out: Path) -> None:
    """Raises Failure and OSError."""
    # Imported here because they load Arrow, and the gateway's own process imports this module too.
    from soliloquy.dataset.exports.exporting import export
    from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, find
    from soliloquy.dataset.reading import Dataset
    from soliloquy.dataset.report.writing import write_report
    from soliloquy.problems.bank.bank import catalogue

    dataset = Dataset(place)
    if kind == REPORT:
        write_report(dataset, out, catalogue)
        return
    is_folder = isinstance(find(kind), FolderFormat)
    written = out.with_suffix("") if is_folder else out
    export(dataset, kind, written, choice=ExportOptions())
    if is_folder:
        shutil.make_archive(str(written), "zip", written)


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
