"""The files of a run's dataset, listed and downloaded."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from starlette.responses import Response, StreamingResponse

from soliloquy.dataset.layout import KINDS
from soliloquy.dataset.manifest import MANIFEST, UnreadableManifest, read_manifest, shards_of
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.packages import known_recipes, packages
from soliloquy.runtime.extensions import BadPackage
from soliloquy.v1.gateway_pb2 import GetRunRequest
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.validation import Code, Refusal

CHUNK_BYTES = 256 * 1024
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


def files(gateway: Gateway, datasets: str | None) -> tuple[HttpRoute, HttpRoute]:
    """`datasets` is None where the gateway sees no datasets: then no run has files."""

    async def find(context: RequestContext) -> tuple[Storage | None, Sequence[File]]:
        run = context.path_parameter("run")
        # Refuses anything that is not a run before its name becomes a path.
        await gateway.get_run(GetRunRequest(run=run))
        place = Storage(f"{datasets}/{run}") if datasets else None
        try:
            return place, await asyncio.to_thread(_files, place) if place else []
        except UnreadableManifest as error:
            # No retry helps.
            raise Refusal(Code.UNKNOWN, f"run {run} has no readable dataset ({error})") from error
        except OSError as error:
            raise Refusal(Code.UNAVAILABLE, f"the files of run {run} cannot be read ({error})") from error

    async def list_files(context: RequestContext) -> Files:
        """The files of a run's dataset; none where the gateway does not see it."""
        _, listing = await find(context)
        return Files(files=listing)

    async def download(context: RequestContext) -> Response:
        """One file of a run's dataset."""
        place, listing = await find(context)
        name = context.path_parameter("name")
        file = next((file for file in listing if file.name == name), None)
        if place is None or file is None:
            raise Refusal(
                Code.UNKNOWN,
                f"run {context.path_parameter('run')} has no file {name[:80]!r}: GET /v1/runs/{{run}}/files lists them",
            )
        headers = {"content-length": str(file.size), **attachment(file.name.replace("/", "-"))}
        return StreamingResponse(_content(place, file), headers=headers, media_type="application/octet-stream")

    return (
        HttpRoute("GET", "/v1/runs/{run}/files", "ListFiles", list_files, answer=Files),
        HttpRoute("GET", "/v1/runs/{run}/files/{name:path}", "GetFile", download, media="application/octet-stream"),
    )


def attachment(name: str) -> dict[str, str]:
    """Returns the headers of a file that a browser saves under this name."""
    return {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}


def _files(place: Storage) -> list[File]:
    """The manifest and the shards that it names."""
    if (manifest := read_manifest(place)) is None:
        return []
    named = (shard for shard in shards_of(manifest, *KINDS) if _NAME.fullmatch(shard.name))
    shards = [File(name=shard.name, size=shard.bytes) for shard in named]
    return [File(name=MANIFEST, size=len(place.read(MANIFEST) or b"")), *shards]


async def _content(place: Storage, file: File) -> AsyncIterator[bytes]:
    """Sends as many bytes as were listed, because a manifest may be rewritten meanwhile."""
    left = file.size
    with ExitStack() as closing:
        opened = await asyncio.to_thread(closing.enter_context, place.opened(file.name))
        while left and (chunk := await asyncio.to_thread(opened.read, min(left, CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatChoice:
    name: str
    title: str
    # The end of the file's name; a format that is a folder is sent as one file.
    suffix: str
    # The only recipe whose conversations it holds; empty for a format of all recipes.
    recipe: str


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
