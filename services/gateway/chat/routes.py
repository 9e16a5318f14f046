"""The HTTP routes of the chats and the completions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from soliloquy.runtime.completions import CommonChatRequest
from soliloquy_services.gateway.chat.chats import Chats
from soliloquy_services.gateway.chat.completions import Completions, openai_error, parse_request
from soliloquy_services.gateway.chat.messages import (
    ChatFinished,
    ChatOffer,
    ChatState,
    FinishChat,
    Say,
    StartChat,
)
from soliloquy_services.gateway.http.answers import Stream, event, json_response
from soliloquy_services.gateway.http.parsing import parse_body
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.refusals import Refusal

# Texts are bounded in characters, and JSON writes a character in at most twelve bytes.
_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class ChatRoutes:
    chats: Chats
    completions: Completions

    def all(self) -> tuple[HttpRoute, ...]:
        chat, events = "/v1/chats/{id}", str(Stream.media_type)
        return (
            HttpRoute("GET", "/v1/chats", "OfferChat", self._offer, answer=ChatOffer),
            HttpRoute("POST", "/v1/chats", "StartChat", self._start, StartChat, ChatState, statuses=(201,)),
            HttpRoute("GET", chat, "GetChat", self._show, answer=ChatState),
            HttpRoute("POST", f"{chat}/messages", "Say", self._say, Say, media=events),
            HttpRoute("POST", f"{chat}/finish", "FinishChat", self._finish, FinishChat, ChatFinished),
            HttpRoute("GET", "/v1/models", "ListModels", self._models),
            HttpRoute("POST", "/v1/chat/completions", "Complete", self._complete, CommonChatRequest),
        )

    async def _offer(self, _: RequestContext) -> ChatOffer:
        """Tells who tutors, what a chat may be started with, and which other models it may ask."""
        # Some recipes are slow to load.
        return await asyncio.to_thread(self.chats.offer)

    async def _start(self, context: RequestContext) -> ChatState:
        """Start a conversation in which you are the student."""
        request = parse_body(StartChat, await context.body(_MOST_BYTES))
        context.audit.target = request.recipe[:80]
        return await self.chats.start(request)

    async def _show(self, context: RequestContext) -> ChatState:
        """The messages so far."""
        return self.chats.show(context.path_parameter("id"))

    async def _say(self, context: RequestContext) -> Response:
        """Send a message. Server-sent events show the answer: `deciding`, `calculation`, `code`, `output`, `reply`
        with a `delta`, `reply_again` where the shown part is taken back, and finally `done` or `error`."""
        message = parse_body(Say, await context.body(_MOST_BYTES))
        return await context.stream(self._events(context.path_parameter("id"), message.text))

    async def _events(self, chat_id: str, text: str) -> AsyncIterator[bytes]:
        async with aclosing(self.chats.say(chat_id, text)) as progress:
            async for step in progress:
                yield event(step.event, step.data)

    async def _finish(self, context: RequestContext) -> ChatFinished:
        """End it: kept as data if you agree, forgotten otherwise."""
        request = parse_body(FinishChat, await context.body(_MOST_BYTES))
        return await self.chats.finish(context.path_parameter("id"), keep=request.keep)

    async def _models(self, _: RequestContext) -> dict[str, Any]:
        """The recipes that tutor, as OpenAI lists models."""
        # Some recipes are slow to load.
        return await asyncio.to_thread(self.completions.models)

    async def _complete(self, context: RequestContext) -> Response:
        """The tutor's next reply, as OpenAI answers chats."""
        try:
            request = parse_request(await context.body())
            context.audit.target = request.model[:80]
            if request.stream:
                return await context.stream(self._chunks(request))
            return json_response(await self.completions.answer(request))
        except Refusal as refusal:
            status, body = openai_error(refusal)
            # OpenAI's clients wait this long before they retry.
            return json_response(
                body, status, {"retry-after": f"{refusal.retry_after:.0f}"} if refusal.retry_after else None
            )

    async def _chunks(self, request: CommonChatRequest) -> AsyncIterator[bytes]:
        async with aclosing(self.completions.stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk.encode()
