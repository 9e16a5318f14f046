"""A conversation beyond its run's share waits at its next turn, and goes on as if it had not."""

import asyncio
from collections.abc import Awaitable

import pytest

from soliloquy.runtime.events import Outcome
from soliloquy.runtime.handling import NotYet
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationStarted, RunHeld, StudentReplied, TurnHeld
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.student.handler import go_on, reply
from soliloquy_services.student.held import HeldConversations
from tests.unit.scripted.growing import ENGINE, begun


def of_run(first: int | None) -> RunHeld:
    return RunHeld(run=Run(id=begun(0, seed=7).run.id), first=first)


def started(ordinal: int) -> ConversationStarted:
    return ConversationStarted(conversation=begun(ordinal, seed=7))


async def wait_of(held: HeldConversations, conversation: Conversation) -> asyncio.Future[None]:
    with pytest.raises(NotYet) as waiting:
        await go_on(TurnHeld(conversation=conversation), ENGINE, held)
    return waiting.value.until


async def said(outcome: Awaitable[Outcome]) -> str:
    [replied] = await outcome
    assert isinstance(replied, StudentReplied)
    return replied.conversation.turns[-1].student.text


async def test_only_conversations_from_the_first_held_problem_on_wait_and_they_go_on_in_order() -> None:
    held = HeldConversations()
    held.take(of_run(2))
    undisturbed = await said(reply(started(2), ENGINE, HeldConversations()))
    assert await said(reply(started(1), ENGINE, held))
    [handed] = await reply(started(2), ENGINE, held)
    assert isinstance(handed, TurnHeld)
    second, third = await wait_of(held, handed.conversation), await wait_of(held, begun(3, seed=7))
    held.take(of_run(3))
    assert (second.done(), third.done()) == (True, False)
    held.take(of_run(2))
    assert not (await wait_of(held, handed.conversation)).done()
    held.take(of_run(3))
    assert await said(go_on(handed, ENGINE, held)) == undisturbed
    held.take(of_run(None))
    assert third.done()


async def test_the_conversations_of_another_run_do_not_wait() -> None:
    held = HeldConversations()
    held.take(RunHeld(run=Run(id="another"), first=0))
    assert await said(reply(started(0), ENGINE, held))
    held.take(of_run(0))
    waiting = await wait_of(held, begun(0, seed=7))
    held.take(RunHeld(run=Run(id="another")))
    assert not waiting.done()
