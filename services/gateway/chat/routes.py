"""The HTTP routes of the chats and the completions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from services.gateway.chat.chats import Chats
from services.gateway.chat.completions import Completions, list_models, openai_error, parse_request
from services.gateway.chat.messages import ChatFinished, ChatState, FinishChat, Say, StartChat, parse_body
from services.gateway.http.responses import json_response
from services.gateway.http.routes import HttpRoute, RequestContext
from services.gateway.http.streams import Stream, event
from services.gateway.refusals import Refusal
from soliloquy.runtime.completions import CommonChatRequest

# Texts are bounded in characters, and JSON writes a character in at most twelve bytes.
_MOST_BYTES = 256 * 1024
_SAY_SUMMARY = """\
Send a message. Server-sent events show the answer: `deciding`, `calculation`, `code`, `output`, `reply` with a
`delta`, `reply_again` where the shown part is taken back, and finally `done` or `error`."""


@dataclass(frozen=True, kw_only=True)
class ChatRoutes:
    chats: Chats
    completions: Completions

    def all(self) -> tuple[HttpRoute, ...]:
        chat, events = "/v1/chats/{id}", str(Stream.media_type)
        return (
            HttpRoute(
                "POST",
                "/v1/chats",
                "StartChat",
                "Start a conversation in which you are the student.",
                self._start,
                body=StartChat,
                answer=ChatState,
                statuses=(201,),
            ),
            HttpRoute("GET", chat, "GetChat", "The messages so far.", self._show, answer=ChatState),
            HttpRoute("POST", f"{chat}/messages", "Say", _SAY_SUMMARY, self._say, body=Say, media=events),
            HttpRoute(
                "POST",
                f"{chat}/finish",
                "FinishChat",
                "End it: kept as data if you agree, forgotten otherwise.",
                self._finish,
                body=FinishChat,
                answer=ChatFinished,
            ),
            HttpRoute(
                "GET", "/v1/models", "ListModels", "The recipes that tutor, as OpenAI lists models.", self._models
            ),
            HttpRoute(
                "POST",
                "/v1/chat/completions",
                "Complete",
                "The tutor's next reply, as OpenAI answers chats.",
                self._complete,
                body=CommonChatRequest,
            ),
        )

    async def _start(self, context: RequestContext) -> ChatState:
        request = parse_body(StartChat, await context.body(_MOST_BYTES))
        context.audit.target = request.recipe[:80]
        return await self.chats.start(request)

    async def _show(self, context: RequestContext) -> ChatState:
        return self.chats.show(context.path_parameter("id"))

    async def _say(self, context: RequestContext) -> Response:
        message = parse_body(Say, await context.body(_MOST_BYTES))
        return await context.stream(self._events(context.path_parameter("id"), message.text))

    async def _events(self, chat_id: str, text: str) -> AsyncIterator[bytes]:
        async with aclosing(self.chats.say(chat_id, text)) as progress:
            async for step in progress:
                yield event(step.event, step.data)

    async def _finish(self, context: RequestContext) -> ChatFinished:
        request = parse_body(FinishChat, await context.body(_MOST_BYTES))
        return await self.chats.finish(context.path_parameter("id"), keep=request.keep)

    async def _models(self, _: RequestContext) -> dict[str, Any]:
        # Some recipes are slow to load.
        return await asyncio.to_thread(list_models)

    async def _complete(self, context: RequestContext) -> Response:
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
