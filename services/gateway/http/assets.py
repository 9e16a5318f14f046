"""The console's files, from memory: what is not among them cannot be asked for."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

import soliloquy.dataset.report
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own
from services.gateway.refusals import Code, Refusal

_CONSOLE = Path(__file__).parents[1] / "console"
_LOOK = Path(soliloquy.dataset.report.__file__).with_name("look")
# The console's own files, and what it shows in the same way as a dataset's report.
FOLDERS = (_CONSOLE, _LOOK)
PAGE = "index.html"
# One file has them all, in this order: until it is there, a browser paints nothing.
SHEET, SHEETS = "sheet.css", ("colours.css", "conversation.css", "console.css", "pages.css")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    content: bytes
    kind: str
    tag: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "Asset":
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(content=content, kind=_TYPES[Path(name).suffix], tag=tag)


class Assets:
    def __init__(self, folders: Sequence[Path] = FOLDERS) -> None:
        files = (file for folder in folders for file in folder.glob("*") if file.suffix in _TYPES)
        contents = {file.name: file.read_bytes() for file in files}
        contents[SHEET] = b"".join(contents.pop(name) for name in SHEETS)
        self._assets: Mapping[str, Asset] = {name: Asset.of(name, content) for name, content in contents.items()}

    def routes(self) -> tuple[Own, ...]:
        return (
            Own(method="GET", path="/", action="", summary="The console.", handler=self._page, media="text/html"),
            Own(
                method="GET",
                path="/assets/{name}",
                action="",
                summary="A file of the console.",
                handler=self._file,
                media="*/*",
            ),
        )

    async def _page(self, asked: Asked) -> Response:
        return self._found(asked, PAGE)

    async def _file(self, asked: Asked) -> Response:
        return self._found(asked, asked.named("name"))

    def _found(self, asked: Asked, name: str) -> Response:
        if (asset := self._assets.get(name)) is None:
            raise Refusal(Code.UNKNOWN, f"the console has no file {name[:80]!r}")
        # Looked at again each time: a gateway of another version has others under the same names.
        headers = {"etag": asset.tag, "cache-control": "no-cache"}
        if asset.tag in asked.request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(asset.content, headers={**headers, "content-type": asset.kind})
