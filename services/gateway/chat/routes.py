"""The chats and the completions over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from pydantic import BaseModel
from starlette.responses import Response

from services.gateway.chat.asked import ChatFinished, ChatShown, FinishChat, Say, StartChat, read
from services.gateway.chat.chats import Chats
from services.gateway.chat.completions import Completions, models, read_asked, refused
from services.gateway.http.answers import answered
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own
from services.gateway.http.streams import Stream, event
from services.gateway.refusals import Refusal
from soliloquy.runtime.completions import CommonChatRequest

# Its texts are bounded in characters, each of which JSON may write in twelve bytes; a longer body holds no such text.
_MOST_BYTES = 256 * 1024
_PIECES = """\
Say something. Server-sent events tell what comes of it: `deciding`, `calculation`, `code`, `output`, `reply` with a
`delta`, `reply_again` where what was shown is taken back, and at last `done` or `error`."""


@dataclass(frozen=True, kw_only=True)
class ChatRoutes:
    chats: Chats
    completions: Completions

    def all(self) -> tuple[Own, ...]:
        chat, events = "/v1/chats/{id}", str(Stream.media_type)
        return (
            Own(
                method="POST",
                path="/v1/chats",
                action="StartChat",
                summary="Begin a conversation in which you are the student.",
                handler=self._start,
                body=StartChat,
                answer=ChatShown,
                status=201,
            ),
            Own(
                method="GET",
                path=chat,
                action="GetChat",
                summary="What was said so far.",
                handler=self._show,
                answer=ChatShown,
            ),
            Own(
                method="POST",
                path=f"{chat}/messages",
                action="Say",
                summary=_PIECES,
                handler=self._say,
                body=Say,
                media=events,
            ),
            Own(
                method="POST",
                path=f"{chat}/finish",
                action="FinishChat",
                summary="End it: kept as data if you agree, and else forgotten.",
                handler=self._finish,
                body=FinishChat,
                answer=ChatFinished,
            ),
            Own(
                method="GET",
                path="/v1/models",
                action="ListModels",
                summary="The recipes that tutor, as OpenAI lists models.",
                handler=self._models,
            ),
            Own(
                method="POST",
                path="/v1/chat/completions",
                action="Complete",
                summary="The tutor's next reply, as OpenAI answers chats.",
                handler=self._complete,
                body=CommonChatRequest,
            ),
        )

    async def _start(self, asked: Asked) -> Response:
        wanted = read(StartChat, await asked.body(_MOST_BYTES))
        asked.call.target = wanted.recipe[:80]
        return _told(await self.chats.start(wanted), 201)

    async def _show(self, asked: Asked) -> Response:
        return _told(self.chats.show(asked.named("id")))

    async def _say(self, asked: Asked) -> Response:
        said = read(Say, await asked.body(_MOST_BYTES))
        return await asked.streamed(self._pieces(asked.named("id"), said.text))

    async def _pieces(self, chat_id: str, text: str) -> AsyncIterator[bytes]:
        async with aclosing(self.chats.say(chat_id, text)) as pieces:
            async for piece in pieces:
                yield event(piece.event, piece.data)

    async def _finish(self, asked: Asked) -> Response:
        wanted = read(FinishChat, await asked.body(_MOST_BYTES))
        return _told(await self.chats.finish(asked.named("id"), keep=wanted.keep))

    async def _models(self, _: Asked) -> Response:
        # Some take long to load.
        return answered(await asyncio.to_thread(models))

    async def _complete(self, asked: Asked) -> Response:
        try:
            wanted = read_asked(await asked.body())
            asked.call.target = wanted.model[:80]
            if wanted.stream:
                return await asked.streamed(self._chunks(wanted))
            return answered(await self.completions.answer(wanted))
        except Refusal as refusal:
            status, body = refused(refusal)
            # OpenAI's clients wait so long before they ask again by themselves.
            return answered(
                body, status, {"retry-after": f"{refusal.retry_after:.0f}"} if refusal.retry_after else None
            )

    async def _chunks(self, wanted: CommonChatRequest) -> AsyncIterator[bytes]:
        async with aclosing(self.completions.stream(wanted)) as chunks:
            async for chunk in chunks:
                yield chunk.encode()


def _told(content: BaseModel, status: int = 200) -> Response:
    return answered(content.model_dump(), status)
