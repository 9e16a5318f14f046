"""Dispatches HTTP requests: admits the caller, calls the route, and answers a Refusal with its status."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import nullcontext

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from soliloquy_services.gateway.access.access import Access, AuditRecord, Credentials
from soliloquy_services.gateway.access.connections import peer_at
from soliloquy_services.gateway.access.loopback import names_loopback, same_origin
from soliloquy_services.gateway.http.connection import certificate_of
from soliloquy_services.gateway.http.responses import error_response, json_response, not_offered
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.http.session import token_of
from soliloquy_services.gateway.refusals import Code, Refusal

# Below this path even the answer that a path does not exist requires a token.
GUARDED = "/v1/"


class RouteDispatcher:
    def __init__(self, access: Access, stopping: asyncio.Event) -> None:
        """Streams end when `stopping` is set."""
        self._access = access
        self._stopping = stopping

    def starlette_routes(self, routes: Iterable[HttpRoute]) -> list[StarletteRoute]:
        by_path: defaultdict[str, dict[str, HttpRoute]] = defaultdict(dict)
        for route in routes:
            by_path[route.path][route.method] = route
        return [self._starlette_route(path, methods) for path, methods in by_path.items()]

    async def not_found(self, request: Request, error: Exception) -> Response:
        """Answers a path that is not offered, or a method that a file does not offer."""
        if request.scope["path"].startswith(GUARDED):
            try:
                self._access.authenticate(credentials_of(request))
            except Refusal as refusal:
                return error_response(refusal)
        is_file = isinstance(error, HTTPException) and error.status_code == 405
        return not_offered(request.method, request.scope["path"], "GET" if is_file else "")

    def _starlette_route(self, path: str, methods: dict[str, HttpRoute]) -> StarletteRoute:
        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            if method not in methods:
                return not_offered(request.method, request.scope["path"], ", ".join(methods))
            return await self._answer(methods[method], request)

        # Accepts all methods, so that the answer above tells which ones there are.
        route = StarletteRoute(path, answer)
        route.methods = None
        return route

    async def _answer(self, route: HttpRoute, request: Request) -> Response:
        credentials, target = credentials_of(request), "/".join(request.path_params.values())
        open_to_all = nullcontext(AuditRecord(who=credentials.address, what=""))
        try:
            self._check_origin(request)
            with self._access.admit(credentials, route.action, target) if route.action else open_to_all as audit:
                context = RequestContext(
                    request=request, access=self._access, credentials=credentials, audit=audit, stopping=self._stopping
                )
                content = await route.handler(context)
                return content if isinstance(content, Response) else json_response(content, route.statuses[0])
        except Exception as error:
            return error_response(error)

    def _check_origin(self, request: Request) -> None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        if not self._access.requires_token and not names_loopback(host):
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
        peer=peer_at("http", *request.client) if request.client else None,
        certificate=certificate_of(request.scope),
    )
