"""Routes as Starlette takes them: each call passes access on its way in, and a Refusal is answered on its way out."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any

from google.protobuf.message import Message
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Place

from services.gateway.access.access import Access, Presented
from services.gateway.access.audit import Call, target_of
from services.gateway.access.loopback import names_loopback, same_origin
from services.gateway.http.answers import Encoder, answered, no_such_path, refused
from services.gateway.http.asked import Asked
from services.gateway.http.connection import connection_of
from services.gateway.http.reading import parsed
from services.gateway.http.routes import Own, Route, Rpc
from services.gateway.http.session import token_of
from services.gateway.http.streams import event, event_of
from services.gateway.refusals import Code, Refusal
from services.gateway.service import Gateway
from services.gateway.serving import method_of
from services.gateway.watching import Skipped
from soliloquy.v1.gateway_pb2 import StartRunRequest

# Behind this everything takes a right token, even to learn what is not there.
GUARDED = "/v1/"


class Endpoints:
    def __init__(self, gateway: Gateway, access: Access, stopping: asyncio.Event) -> None:
        """Streams end when `stopping` is set."""
        self._gateway = gateway
        self._access = access
        self._stopping = stopping
        self._encoded = Encoder()

    def places(self, routes: Iterable[Route]) -> list[Place]:
        by_path: defaultdict[str, dict[str, Route]] = defaultdict(dict)
        for route in routes:
            by_path[route.path][route.method] = route
        return [self._place(path, methods) for path, methods in by_path.items()]

    async def nowhere(self, request: Request, error: Exception) -> Response:
        """Answers a path that is not offered, or a method that a file does not offer."""
        if request.scope["path"].startswith(GUARDED):
            try:
                self._access.known(_presented(request))
            except Refusal as refusal:
                return refused(refusal)
        is_file = isinstance(error, HTTPException) and error.status_code == 405
        return no_such_path(request.method, request.scope["path"], "GET" if is_file else "")

    def _place(self, path: str, methods: dict[str, Route]) -> Place:
        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            if method not in methods:
                return no_such_path(request.method, request.scope["path"], ", ".join(methods))
            return await self._answer(methods[method], request)

        # All methods: what is offered of a path is told by the one answer to what is not.
        place = Place(path, answer)
        place.methods = None
        return place

    async def _answer(self, route: Route, request: Request) -> Response:
        presented = _presented(request)
        try:
            self._check_origin(request)
            if isinstance(route, Own) and not route.action:
                return await route.handler(self._asked(request, presented, Call(who=presented.address, what="")))
            action = route.name if isinstance(route, Rpc) else route.action
            with self._access.admitted(presented, action, "/".join(request.path_params.values())) as call:
                asked = self._asked(request, presented, call)
                return await (self._called(route, asked) if isinstance(route, Rpc) else route.handler(asked))
        except Exception as error:
            return refused(error)

    def _asked(self, request: Request, presented: Presented, call: Call) -> Asked:
        return Asked(request=request, access=self._access, presented=presented, call=call, stopping=self._stopping)

    def _check_origin(self, request: Request) -> None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        if not self._access.is_needed and not names_loopback(host):
            raise Refusal(Code.DENIED, f"the host {host[:80]!r} is not this machine: ask 127.0.0.1 or localhost")
        by_itself = request.headers.get("sec-fetch-site") == "same-origin"
        if origin and not by_itself and not same_origin(host, origin):
            raise Refusal(Code.DENIED, f"a page of {origin[:80]!r} may not ask {host[:80]!r}: open its own console")

    async def _called(self, route: Rpc, asked: Asked) -> Response:
        request = asked.request
        if route.method == "POST" and request.query_params:
            raise Refusal(
                Code.INVALID, f"{next(iter(request.query_params))[:80]!r} is in the query: send it in the body"
            )
        body = await asked.body() if route.method == "POST" else {}
        message = parsed(route.asked, body, request.path_params, request.query_params)
        asked.call.target = asked.call.target or target_of(message)
        call = getattr(self._gateway, method_of(route.name))
        if route.event:
            return await asked.streamed(self._told(route.event, call(message)))
        begins = isinstance(message, StartRunRequest) and not self._gateway.has_request(message.request_id)
        return answered(await call(message), 201 if begins else 200)

    async def _told(self, name: str, messages: Any) -> AsyncIterator[bytes]:
        async with aclosing(messages):
            async for message in messages:
                yield self._event(name, message)
        yield event("end", {})

    def _event(self, name: str, message: Message | Skipped) -> bytes:
        if isinstance(message, Skipped):
            return event("skipped", {"number": message.number})
        return event_of(name, self._encoded(message))


def _presented(request: Request) -> Presented:
    return Presented(
        address=request.client.host if request.client else "",
        token=token_of(request),
        certificate=connection_of(request.scope).certificate,
    )
