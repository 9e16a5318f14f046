"""The events that show a person how an answer comes about."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToDict

from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.values import plain, status_name
from soliloquy.v1.conversation_pb2 import Conversation, Turn
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten, ReplyNeeded
from soliloquy_services.gateway.refusals import Refusal


class ProgressEvent(NamedTuple):
    event: str
    data: dict[str, Any]


Report = Callable[[ProgressEvent], None]


async def progress_of(answer: Callable[[Report], Awaitable[None]]) -> AsyncGenerator[ProgressEvent, None]:
    """Yields what the answer reports; raises what it raises. Closing the generator cancels the answer."""
    reported: asyncio.Queue[ProgressEvent | None] = asyncio.Queue()
    answering = asyncio.ensure_future(answer(reported.put_nowait))
    answering.add_done_callback(lambda _: reported.put_nowait(None))
    try:
        while event := await reported.get():
            yield event
        await answering
    finally:
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)


DECIDING = ProgressEvent("deciding", {})
# Takes back the part of the reply that was shown; the reply is written again.
REPLY_AGAIN = ProgressEvent("reply_again", {})


def reply(delta: str) -> ProgressEvent:
    return ProgressEvent("reply", {"delta": delta})


def step_events(before: ConversationEvent, event: ConversationEvent) -> Iterator[ProgressEvent]:
    """Yields what one step has produced."""
    calculation = event.conversation.turns[-1].calculation
    match event:
        case CalculationNeeded():
            yield ProgressEvent("calculation", {"description": calculation.description})
        case CodeWritten():
            yield ProgressEvent("code", {"code": calculation.attempts[-1].code})
        case CodeFailed() | ReplyNeeded() if isinstance(before, CodeWritten):
            execution = calculation.attempts[-1].execution
            values = {named.name: plain(named.value) for named in execution.values}
            output = {"status": status_name(execution), "stdout": execution.stdout, "values": values}
            yield ProgressEvent("output", output | ({"error": execution.error} if execution.error else {}))


def done(conversation: Conversation) -> ProgressEvent:
    """The finished turn, as the contract writes it and as the console draws it."""
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.view import turn_view

    *_, checked = find(conversation.run.recipe).check(conversation).turns
    # Model calls are left out, because prompts hold the solution.
    turn = Turn()
    turn.CopyFrom(conversation.turns[-1])
    turn.ClearField("calls")
    turn.verification = checked.verification
    plain_turn = MessageToDict(turn, preserving_proto_field_name=True)
    return ProgressEvent(
        "done",
        {"turn": plain_turn, "view": turn_view(turn, conversation.run.recipe), "over": bool(conversation.ending)},
    )


def error(refusal: Refusal) -> ProgressEvent:
    return ProgressEvent("error", {"code": refusal.code, "message": refusal.message})
