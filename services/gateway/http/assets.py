"""The console's files, under paths that mirror the source tree: imports resolve on disk and in a browser alike."""

import re
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from services.gateway.http.context import RequestContext
from services.gateway.http.routes import HttpRoute
from soliloquy.web import FOLDER as SHARED

CONSOLE = Path(__file__).parents[1] / "console"
MOUNTED = {"/assets/services/gateway/console": CONSOLE, "/assets/soliloquy/web": SHARED}
_NAME = re.compile(r"[\w-]+\.(css|html|js|svg)", re.ASCII)


class _Files(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        # Neither Python nor README files, nor any name that a file system could take for something else.
        if _NAME.fullmatch(path) is None:
            raise HTTPException(404)
        return await super().get_response(path, scope)

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        # A browser revalidates each time: a gateway of another version has other files under the same names.
        response.headers["cache-control"] = "no-cache"
        return response


def mounts() -> list[Mount]:
    return [Mount(path, _Files(directory=folder)) for path, folder in MOUNTED.items()]


def page() -> HttpRoute:
    files = _Files(directory=CONSOLE)

    async def look(context: RequestContext) -> Response:
        return await files.get_response("index.html", context.request.scope)

    return HttpRoute("GET", "/", "", "The console.", look, media="text/html")
