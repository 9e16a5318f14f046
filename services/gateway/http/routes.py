"""Defines a route over HTTP, and the context in which it handles a request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from google.protobuf.descriptor import Descriptor
from starlette.requests import Request
from starlette.responses import Response

from soliloquy_services.gateway.access.access import Access, AuditRecord, Credentials
from soliloquy_services.gateway.http.answers import GREETING, Stream
from soliloquy_services.gateway.http.parsing import MOST_BODY_BYTES, Json, read_body

Method = Literal["GET", "POST", "DELETE"]
DRY_RUN = "dry_run"


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestContext:
    request: Request
    access: Access
    credentials: Credentials
    audit: AuditRecord
    # Set when the gateway stops.
    stopping: asyncio.Event

    async def body(self, most_bytes: int = MOST_BODY_BYTES) -> Json:
        return await read_body(self.request, most_bytes)

    def path_parameter(self, name: str) -> str:
        return str(self.request.path_params[name])

    async def stream(self, events: AsyncIterator[bytes]) -> Response:
        """Sends server-sent events while the caller is admitted; raises what is raised before the first event."""
        self.audit.streamed = True
        if self.request.method == "HEAD":
            return Response(media_type=Stream.media_type)
        # No browser repeats a POST by itself, and OpenAI's clients take a greeting for an answer.
        greeting = GREETING if self.request.method == "GET" else b""
        still_admitted = partial(self.access.recheck, self.credentials, self.audit)
        return await Stream(events, self.stopping, still_admitted, greeting=greeting).begin()


@dataclass(frozen=True, slots=True)
class HttpRoute:
    method: Method
    path: str
    # Its name in `roles.toml`; empty for a route that is open to everybody.
    action: str
    # Returns a response, or the content of one in JSON.
    handler: Callable[[RequestContext], Awaitable[Any]]
    # Types that pydantic makes schemas of, or descriptors; None for no body and for an undescribed answer.
    body: Any = None
    answer: Any = None
    # The fields of its query, some of which may be in the path instead.
    query: Descriptor | None = None
    media: str = "application/json"
    # The event name of a stream's messages, if each of them is an `answer`.
    event: str = ""
    # The statuses of its answers; content in JSON is sent with the first.
    statuses: tuple[int, ...] = (200,)
    # Its answer to `?dry_run`; None if it takes none.
    dry_answer: Any = None
    # Its purpose; None takes the docstring of the handler.
    summary: str | None = None
