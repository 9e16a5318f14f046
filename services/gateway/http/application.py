"""The application over HTTP: admits each caller, calls the route, and answers a Refusal with its status."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from soliloquy.web import FOLDER as SHARED
from soliloquy_services.gateway.access.access import REFUSAL_SECONDS, Access, AuditRecord, Credentials
from soliloquy_services.gateway.access.hosts import names_loopback, same_origin
from soliloquy_services.gateway.annotation.routes import AnnotationRoutes
from soliloquy_services.gateway.http.answers import error_response, json_response, not_offered
from soliloquy_services.gateway.http.choices import choices
from soliloquy_services.gateway.http.connection import certificate_of, lost_within
from soliloquy_services.gateway.http.downloads import Downloads
from soliloquy_services.gateway.http.openapi import openapi_route
from soliloquy_services.gateway.http.problems import problems
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.http.run_routes import RunRoutes
from soliloquy_services.gateway.http.session import ROUTES as SESSION
from soliloquy_services.gateway.http.session import token_of
from soliloquy_services.gateway.http.sign_in import SignIn
from soliloquy_services.gateway.http.training import training
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings

# Below this path even the answer that a path does not exist requires a token.
GUARDED = "/v1/"
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


def routes(gateway: Gateway, settings: GatewaySettings) -> tuple[HttpRoute, ...]:
    return (
        *RunRoutes(gateway).all(),
        *Downloads(gateway, settings.datasets).routes(),
        choices(gateway, settings.models),
        problems(gateway),
        *AnnotationRoutes(gateway, lasting=bool(settings.database)).all(),
        training(settings.adapters, settings.evaluations),
        *SESSION,
    )


def application(
    gateway: Gateway, settings: GatewaySettings, access: Access, stopping: asyncio.Event, more: Iterable[HttpRoute] = ()
) -> Starlette:
    """`more` adds routes; streams end when `stopping` is set."""
    offered = (*routes(gateway, settings), *more)
    page = HttpRoute("GET", "/", "", _show_page, media="text/html")
    signing_in = SignIn(access.issuer).routes() if access.issuer else ()
    by_path: defaultdict[str, dict[str, HttpRoute]] = defaultdict(dict)
    for route in (*offered, openapi_route(offered), page, *signing_in):
        by_path[route.path][route.method] = route
    dispatcher = _Dispatcher(access, stopping)
    served = Starlette(
        routes=[
            *(dispatcher.starlette_route(path, methods) for path, methods in by_path.items()),
            *(Mount(path, _Files(directory=folder)) for path, folder in MOUNTED.items()),
        ],
        middleware=[Middleware(_Guard, access=access)],
        exception_handlers={HTTPException: dispatcher.not_found},
    )
    # A trailing slash makes another path, with no redirect.
    served.router.redirect_slashes = False
    return served


class _Dispatcher:
    def __init__(self, access: Access, stopping: asyncio.Event) -> None:
        self._access = access
        self._stopping = stopping

    def starlette_route(self, path: str, methods: Mapping[str, HttpRoute]) -> Route:
        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            if method not in methods:
                return not_offered(request.method, request.scope["path"], ", ".join(methods))
            return await self._answer(methods[method], request)

        # Accepts all methods, so that the answer above tells which ones there are.
        route = Route(path, answer)
        route.methods = None
        return route

    async def not_found(self, request: Request, error: Exception) -> Response:
        """Answers a path that is not offered, or a method that a file does not offer."""
        if request.scope["path"].startswith(GUARDED):
            try:
                self._access.authenticate(credentials_of(request))
            except Refusal as refusal:
                return error_response(refusal)
        is_file = isinstance(error, HTTPException) and error.status_code == 405
        return not_offered(request.method, request.scope["path"], "GET" if is_file else "")

    async def _answer(self, route: HttpRoute, request: Request) -> Response:
        credentials, target = credentials_of(request), "/".join(request.path_params.values())
        open_to_all = nullcontext(AuditRecord(who=credentials.address, what=""))
        try:
            _check_origin(request, needs_loopback=not self._access.requires_token)
            with self._access.admit(credentials, route.action, target) if route.action else open_to_all as audit:
                context = RequestContext(
                    request=request, access=self._access, credentials=credentials, audit=audit, stopping=self._stopping
                )
                content = await route.handler(context)
                return content if isinstance(content, Response) else json_response(content, route.statuses[0])
        except Exception as error:
            return error_response(error)


def _check_origin(request: Request, *, needs_loopback: bool) -> None:
    host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
    if needs_loopback and not names_loopback(host):
        raise Refusal(Code.DENIED, f"the host {host[:80]!r} is not this machine: use 127.0.0.1 or localhost")
    site = request.headers.get("sec-fetch-site", "")
    # Links from other sites may open the console; browsers send no Origin with images and forms that read.
    if not origin and site in ("cross-site", "same-site") and request.scope["path"].startswith(GUARDED):
        raise Refusal(Code.DENIED, f"a page of another site may not call {host[:80]!r}: open its own console")
    if origin and site != "same-origin" and not same_origin(host, origin):
        raise Refusal(Code.DENIED, f"a page of {origin[:80]!r} may not call {host[:80]!r}: open its own console")


def credentials_of(request: Request) -> Credentials:
    return Credentials(
        address=request.client.host if request.client else "",
        token=token_of(request),
        certificate=certificate_of(request.scope),
    )


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


class _Guard:
    """Refuses those without a token who ask too often, before anything is done for them; all answers have HEADERS."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer, credentials = self._app, credentials_of(Request(scope))
        try:
            await self._access.prepare(credentials)
            self._access.pace(credentials)
        except Refusal as refusal:
            if await lost_within(scope, REFUSAL_SECONDS):
                return
            answer = response = error_response(refusal)
            # Further requests may be waiting in the same connection.
            response.headers["connection"] = "close"
        await answer(scope, receive, with_headers)
