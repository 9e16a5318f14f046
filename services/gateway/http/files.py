"""What the collector has written of a run, for whoever wants to take it along."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from starlette.responses import Response, StreamingResponse

from services.gateway.http.answers import answered
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own
from services.gateway.refusals import Code, Refusal
from services.gateway.service import Gateway
from soliloquy.dataset.layout import KINDS
from soliloquy.dataset.manifest import MANIFEST, UnreadableManifest, read_manifest, shards_of
from soliloquy.dataset.storage import Storage
from soliloquy.v1.gateway_pb2 import GetRunRequest

_AT_ONCE = 256 * 1024
# Whatever a manifest says, nothing outside its folder is a file of it.
_NAME = re.compile(r"[a-z]+/\w[\w.-]*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    # With its folder: accepted/00000.parquet.
    name: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    files: Sequence[File]


def files(gateway: Gateway, datasets: str | None) -> tuple[Own, Own]:
    """Of the datasets that the gateway sees; None for no file at all."""

    async def listed(asked: Asked) -> tuple[Storage | None, Sequence[File]]:
        run = asked.named("run")
        # Who is no run has no folder, whatever its name would lead to.
        await gateway.get_run(GetRunRequest(run=run))
        place = Storage(f"{datasets}/{run}") if datasets else None
        try:
            return place, await asyncio.to_thread(_files, place) if place else []
        except (OSError, UnreadableManifest) as error:
            raise Refusal(Code.UNAVAILABLE, f"the files of run {run} cannot be read ({error})") from error

    async def look(asked: Asked) -> Response:
        _, found = await listed(asked)
        return answered(asdict(Files(files=found)))

    async def take(asked: Asked) -> Response:
        place, found = await listed(asked)
        name = asked.named("name")
        file = next((file for file in found if file.name == name), None)
        if place is None or file is None:
            raise Refusal(
                Code.UNKNOWN,
                f"run {asked.named('run')} has no file {name[:80]!r}: GET /v1/runs/{{run}}/files lists them",
            )
        headers = {
            "content-length": str(file.size),
            "content-disposition": f'attachment; filename="{file.name.replace("/", "-")}"',
            "cache-control": "no-store",
        }
        return StreamingResponse(_content(place, file), headers=headers, media_type="application/octet-stream")

    return (
        Own(
            method="GET",
            path="/v1/runs/{run}/files",
            action="ListFiles",
            summary="What is written of a run's dataset; nothing where the gateway does not see it.",
            handler=look,
            answer=Files,
        ),
        Own(
            method="GET",
            path="/v1/runs/{run}/files/{name:path}",
            action="GetFile",
            summary="One file of a run's dataset.",
            handler=take,
            media="application/octet-stream",
        ),
    )


def _files(place: Storage) -> list[File]:
    """What the manifest names, and the manifest itself."""
    if (manifest := read_manifest(place)) is None:
        return []
    named = (shard for shard in shards_of(manifest, *KINDS) if _NAME.fullmatch(shard.name))
    shards = [File(name=shard.name, size=shard.bytes) for shard in named]
    return [File(name=MANIFEST, size=len(place.read(MANIFEST) or b"")), *shards]


async def _content(place: Storage, file: File) -> AsyncIterator[bytes]:
    """As long as it was when it was listed: a manifest may be written anew meanwhile."""
    left = file.size
    with ExitStack() as closing:
        opened = await asyncio.to_thread(closing.enter_context, place.opened(file.name))
        while left and (chunk := await asyncio.to_thread(opened.read, min(left, _AT_ONCE))):
            left -= len(chunk)
            yield chunk
