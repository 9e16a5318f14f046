"""What a person gets to see of an answer while it comes about, piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToDict

from services.gateway.refusals import Refusal
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.values import plain, status_name
from soliloquy.v1.conversation_pb2 import Conversation, Turn
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten, ReplyNeeded


class Piece(NamedTuple):
    event: str
    data: dict[str, Any]


Tell = Callable[[Piece], None]


async def told_by(answer: Callable[[Tell], Awaitable[None]]) -> AsyncGenerator[Piece, None]:
    """What is told, when it is; raises what the answer raises. Whoever goes before its end calls it off."""
    told: asyncio.Queue[Piece | None] = asyncio.Queue()
    answering = asyncio.ensure_future(answer(told.put_nowait))
    answering.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while piece := await told.get():
            yield piece
        await answering
    finally:
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)


DECIDING = Piece("deciding", {})
# What was shown of the reply so far is taken back: it comes anew.
REPLY_AGAIN = Piece("reply_again", {})


def reply(delta: str) -> Piece:
    return Piece("reply", {"delta": delta})


def of_step(before: ConversationEvent, event: ConversationEvent) -> Iterator[Piece]:
    """What one step on the way has brought."""
    calculation = event.conversation.turns[-1].calculation
    match event:
        case CalculationNeeded():
            yield Piece("calculation", {"description": calculation.description})
        case CodeWritten():
            yield Piece("code", {"code": calculation.attempts[-1].code})
        case CodeFailed() | ReplyNeeded() if isinstance(before, CodeWritten):
            execution = calculation.attempts[-1].execution
            values = {named.name: plain(named.value) for named in execution.values}
            told = {"status": status_name(execution), "stdout": execution.stdout, "values": values}
            yield Piece("output", told | ({"error": execution.error} if execution.error else {}))


def done(conversation: Conversation) -> Piece:
    """The finished turn: as the contract writes it, and as the console draws it."""
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.view import turn_view

    # Prompts hold the solution: the person is not shown what models were asked and answered.
    turn = Turn()
    turn.CopyFrom(conversation.turns[-1])
    turn.ClearField("calls")
    told = MessageToDict(turn, preserving_proto_field_name=True)
    return Piece("done", {"turn": told, "view": turn_view(turn), "over": bool(conversation.ending)})


def error(refusal: Refusal) -> Piece:
    return Piece("error", {"code": refusal.code, "message": refusal.message})
