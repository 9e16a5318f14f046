"""A request on its way through the gateway."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.access.access import Access, Presented
from services.gateway.access.audit import Call
from services.gateway.http.reading import MOST_BODY_BYTES, Json, read_body
from services.gateway.http.streams import GREETING, Stream


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    request: Request
    access: Access
    presented: Presented
    # What the audit log is told of it.
    call: Call
    # Set when the gateway ends.
    stopping: asyncio.Event

    async def body(self, most_bytes: int = MOST_BODY_BYTES) -> Json:
        return await read_body(self.request, most_bytes)

    def named(self, name: str) -> str:
        """What the path has in the place of a name in braces."""
        return str(self.request.path_params[name])

    async def streamed(self, events: AsyncIterator[bytes]) -> Response:
        """Server-sent events, for as long as the caller is let in; raises what is raised before the first of them."""
        self.call.streamed = True
        if self.request.method == "HEAD":
            return Response(media_type=Stream.media_type)
        # What is posted nobody asks for again by itself, and OpenAI's clients take a greeting for an answer.
        greeting = GREETING if self.request.method == "GET" else b""
        still_admitted = partial(self.access.check, self.presented)
        return await Stream(events, self.stopping, still_admitted, greeting=greeting).begun()
