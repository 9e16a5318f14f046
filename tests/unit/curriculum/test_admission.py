"""No run has more conversations under way than it asked for, before and after a restart."""

import asyncio

from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationStarted, ProblemSubmitted
from soliloquy.v1.runs_pb2 import Run

from services.curriculum.admission import Admission
from services.curriculum.handler import follow_up, start
from services.runtime.events import ConversationEvent


def submitted(ordinal: int, run: str = "run") -> ProblemSubmitted:
    spec = Run(id=run, recipe="soliloquy", seed=7, in_flight=2, max_turns=20, max_attempts=3)
    return ProblemSubmitted(run=spec, ordinal=ordinal, problem=Problem(id=f"problem-{ordinal}"))


def collected(started: ConversationEvent, *, accepted: bool) -> ConversationCollected:
    return ConversationCollected(conversation=started.conversation, accepted=accepted)


async def started(ordinal: int, admission: Admission) -> ConversationEvent:
    [event] = await start(submitted(ordinal), admission)
    return event


async def has_room(admission: Admission) -> bool:
    """Whether another problem of the run would start without waiting."""
    another = asyncio.create_task(start(submitted(99), admission))
    await asyncio.sleep(0)
    return another.done() or not another.cancel()


async def test_a_problem_waits_until_there_is_room() -> None:
    admission = Admission()
    first = await started(0, admission)
    await started(1, admission)
    third = asyncio.create_task(started(2, admission))
    await asyncio.sleep(0)
    assert not third.done()
    await follow_up(collected(first, accepted=True), admission)
    assert (await third).conversation.ordinal == 2


async def test_a_run_does_not_wait_for_the_room_of_another() -> None:
    admission = Admission()
    for ordinal in range(2):
        await started(ordinal, admission)
    assert await start(submitted(0, run="another"), admission)


async def test_a_rejected_conversation_is_tried_again_in_its_own_place() -> None:
    admission = Admission()
    first = await started(0, admission)
    await started(1, admission)
    [again] = await follow_up(collected(first, accepted=False), admission)
    assert (again.conversation.ordinal, again.conversation.attempt) == (0, 1)
    assert again.conversation.id != first.conversation.id
    assert not await has_room(admission)


async def test_a_problem_is_given_up_after_its_last_attempt() -> None:
    admission = Admission()
    event = await started(0, admission)
    for _ in range(2):
        [event] = await follow_up(collected(event, accepted=False), admission)
    assert await follow_up(collected(event, accepted=False), admission) == ()
    await started(1, admission)
    assert await has_room(admission)


async def test_the_count_is_recalled_from_the_log() -> None:
    admission = Admission()
    first, second = await started(0, admission), await started(1, admission)
    recalled = Admission()
    for event in (first, second):
        assert isinstance(event, ConversationStarted)
        recalled.recall_started(event)
    recalled.recall_collected(collected(second, accepted=False))
    assert not await has_room(recalled)
    recalled.recall_collected(collected(first, accepted=True))
    assert await has_room(recalled)


async def test_a_problem_under_way_is_not_started_twice() -> None:
    admission = Admission()
    await started(0, admission)
    assert await start(submitted(0), admission) == ()


async def test_the_same_attempt_is_the_same_conversation_anywhere() -> None:
    first, again = await started(0, Admission()), await started(0, Admission())
    assert first == again
