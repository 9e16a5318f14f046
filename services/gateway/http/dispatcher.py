"""Dispatches HTTP requests: admits the caller, calls the gateway, and answers a Refusal with its status."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from services.gateway.access.access import Access, Credentials
from services.gateway.access.audit import AuditRecord, target_of
from services.gateway.access.loopback import names_loopback, same_origin
from services.gateway.grpc_server import method_name
from services.gateway.http.connection import connection_of
from services.gateway.http.context import RequestContext
from services.gateway.http.parsing import parse_message
from services.gateway.http.responses import CachedEncoder, error_response, json_response, not_offered
from services.gateway.http.routes import HttpRoute, Route, RpcRoute
from services.gateway.http.session import token_of
from services.gateway.http.streams import encoded_event, event
from services.gateway.refusals import Code, Refusal
from services.gateway.service import Gateway
from services.gateway.watching import Skipped
from soliloquy.v1.gateway_pb2 import StartRunRequest

# Below this path even the answer that a path does not exist requires a token.
GUARDED = "/v1/"


class RouteDispatcher:
    def __init__(self, gateway: Gateway, access: Access, stopping: asyncio.Event) -> None:
        """Streams end when `stopping` is set."""
        self._gateway = gateway
        self._access = access
        self._stopping = stopping
        self._encode = CachedEncoder()

    def starlette_routes(self, routes: Iterable[Route]) -> list[StarletteRoute]:
        by_path: defaultdict[str, dict[str, Route]] = defaultdict(dict)
        for route in routes:
            by_path[route.path][route.method] = route
        return [self._starlette_route(path, methods) for path, methods in by_path.items()]

    async def not_found(self, request: Request, error: Exception) -> Response:
        """Answers a path that is not offered, or a method that a file does not offer."""
        if request.scope["path"].startswith(GUARDED):
            try:
                self._access.authenticate(_credentials(request))
            except Refusal as refusal:
                return error_response(refusal)
        is_file = isinstance(error, HTTPException) and error.status_code == 405
        return not_offered(request.method, request.scope["path"], "GET" if is_file else "")

    def _starlette_route(self, path: str, methods: dict[str, Route]) -> StarletteRoute:
        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            if method not in methods:
                return not_offered(request.method, request.scope["path"], ", ".join(methods))
            return await self._answer(methods[method], request)

        # Accepts all methods, so that the answer above tells which ones there are.
        route = StarletteRoute(path, answer)
        route.methods = None
        return route

    async def _answer(self, route: Route, request: Request) -> Response:
        credentials = _credentials(request)
        try:
            self._check_origin(request)
            if isinstance(route, HttpRoute) and not route.action:
                open_to_all = AuditRecord(who=credentials.address, what="")
                return await route.handler(self._context(request, credentials, open_to_all))
            action = route.name if isinstance(route, RpcRoute) else route.action
            with self._access.admit(credentials, action, "/".join(request.path_params.values())) as audit:
                context = self._context(request, credentials, audit)
                return await (self._call(route, context) if isinstance(route, RpcRoute) else route.handler(context))
        except Exception as error:
            return error_response(error)

    def _context(self, request: Request, credentials: Credentials, audit: AuditRecord) -> RequestContext:
        return RequestContext(
            request=request, access=self._access, credentials=credentials, audit=audit, stopping=self._stopping
        )

    def _check_origin(self, request: Request) -> None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        if not self._access.requires_token and not names_loopback(host):
            raise Refusal(Code.DENIED, f"the host {host[:80]!r} is not this machine: use 127.0.0.1 or localhost")
        same_site = request.headers.get("sec-fetch-site") == "same-origin"
        if origin and not same_site and not same_origin(host, origin):
            raise Refusal(Code.DENIED, f"a page of {origin[:80]!r} may not call {host[:80]!r}: open its own console")

    async def _call(self, route: RpcRoute, context: RequestContext) -> Response:
        request = context.request
        if route.method == "POST" and request.query_params:
            raise Refusal(
                Code.INVALID, f"{next(iter(request.query_params))[:80]!r} is in the query: send it in the body"
            )
        body = await context.body() if route.method == "POST" else {}
        message = parse_message(route.request_type, body, request.path_params, request.query_params)
        context.audit.target = context.audit.target or target_of(message)
        call = getattr(self._gateway, method_name(route.name))
        if route.event:
            return await context.stream(self._events(route.event, call(message)))
        is_new = isinstance(message, StartRunRequest) and not self._gateway.has_request(message.request_id)
        return json_response(await call(message), 201 if is_new else 200)

    async def _events(self, name: str, messages: Any) -> AsyncIterator[bytes]:
        async with aclosing(messages):
            async for message in messages:
                if isinstance(message, Skipped):
                    yield event("skipped", {"number": message.number})
                else:
                    yield encoded_event(name, self._encode(message))
        yield event("end", {})


def _credentials(request: Request) -> Credentials:
    return Credentials(
        address=request.client.host if request.client else "",
        token=token_of(request),
        certificate=connection_of(request.scope).certificate,
    )
