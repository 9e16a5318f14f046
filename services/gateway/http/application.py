"""Everything that the gateway serves over HTTP, as one application, with the console's files.

The paths of the files mirror the source tree: imports resolve on disk and in a browser alike.
"""

import asyncio
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from soliloquy.web import FOLDER as SHARED
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.rate import REFUSAL_SECONDS
from soliloquy_services.gateway.http.choices import choices
from soliloquy_services.gateway.http.connection import lost_within
from soliloquy_services.gateway.http.dispatcher import RouteDispatcher, credentials_of
from soliloquy_services.gateway.http.downloads import Downloads
from soliloquy_services.gateway.http.files import files
from soliloquy_services.gateway.http.openapi import openapi_route
from soliloquy_services.gateway.http.responses import error_response
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.http.run_routes import RunRoutes
from soliloquy_services.gateway.http.session import ROUTES as SESSION
from soliloquy_services.gateway.http.training import training
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings

CONSOLE = Path(__file__).parents[1] / "console"
MOUNTED = {"/assets/services/gateway/console": CONSOLE, "/assets/soliloquy/web": SHARED}
_NAME = re.compile(r"[\w-]+\.(css|html|js|svg)", re.ASCII)
# A page loads nothing from other hosts and runs no inline script.
_SOURCES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{what} {where}" for what, where in _SOURCES.items()),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def application(
    gateway: Gateway, settings: GatewaySettings, access: Access, stopping: asyncio.Event, more: Iterable[HttpRoute] = ()
) -> Starlette:
    """`more` adds routes; streams end when `stopping` is set."""
    dispatcher = RouteDispatcher(access, stopping)
    offered = (
        *RunRoutes(gateway).all(),
        *files(gateway, settings.datasets),
        *Downloads(gateway, settings.datasets).routes(),
        choices(gateway, settings.models),
        training(settings.adapters, settings.evaluations),
        *SESSION,
        *more,
    )
    page = HttpRoute("GET", "/", "", _show_page, media="text/html")
    served = Starlette(
        routes=[
            *dispatcher.starlette_routes([*offered, openapi_route(offered), page]),
            *(Mount(path, _Files(directory=folder)) for path, folder in MOUNTED.items()),
        ],
        middleware=[Middleware(_SecurityHeaders), Middleware(_Pace, access=access)],
        exception_handlers={HTTPException: dispatcher.not_found},
    )
    # A trailing slash makes another path, with no redirect.
    served.router.redirect_slashes = False
    return served


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


async def _show_page(context: RequestContext) -> Response:
    """The console."""
    return await _Files(directory=CONSOLE).get_response("index.html", context.request.scope)


class _Pace:
    """Refuses those without a token who ask too often, before anything is done for them."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._access.pace(credentials_of(Request(scope)))
        except Refusal as refusal:
            if await lost_within(scope, REFUSAL_SECONDS):
                return
            response = error_response(refusal)
            # Further requests may be waiting in the same connection.
            response.headers["connection"] = "close"
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)
