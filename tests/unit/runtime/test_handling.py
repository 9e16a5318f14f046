"""One event through its handler, unless it does not fit its topic."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.cancelled import CancelledRuns
from soliloquy.runtime.contract import NEEDS, Misfit
from soliloquy.runtime.events import Event, Outcome, emit, first_event
from soliloquy.runtime.handling import PERMANENT_ERRORS, Handler, Handling, Interrupted, Service
from soliloquy.runtime.metrics import topic_metrics
from soliloquy.runtime.retry import RetryPolicy, Transient
from soliloquy.runtime.topics import TOPICS
from soliloquy.runtime.transports.port import Delivery, Partition
from soliloquy.v1 import events_pb2
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Ending, Problem, Turn, TutorReply
from soliloquy.v1.runs_pb2 import Run
from tests.integration.transport.support import reply, started

Started = events_pb2.ConversationStarted


def at(event: Event) -> Delivery:
    return Delivery(event=event, partition=Partition(event.topic, 0), offset=7)


def of(service: Service) -> Handling:
    return Handling(service, topic_metrics(service.name, service.topics), CancelledRuns())


def handling(handler: Handler) -> Handling:
    return of(Service(name="handling", handlers={Started: handler}, retry=RetryPolicy(tries_in_place=3, pause=0.001)))


async def test_the_same_event_yields_the_same_outputs() -> None:
    event = started("c1")
    (first,), (second,) = await handling(reply).outputs(at(event)), await handling(reply).outputs(at(event))
    assert (first.id, first.payload) == (second.id, second.payload)
    assert (first.topic, first.key, first.source) == ("student.replied", "c1", "handling")


async def test_what_ends_with_an_event_is_measured_from_where_it_began() -> None:
    finished = events_pb2.ConversationFinished
    start = started("c1")

    async def nothing(_: events_pb2.ConversationFinished) -> Outcome:
        return emit()

    (replied,) = await handling(reply).outputs(at(start))
    assert replied.began == {"conversation": start.time, "turn": replied.time}
    service = Service(name="ending", handlers={finished: nothing})
    whole = Conversation(run=Run(id="r1"), problem=Problem(question="How far?"), ending=Ending.ENDING_SOLVED)
    payload = finished(conversation=whole).SerializeToString()
    end = replace(replied, topic="conversation.finished", payload=payload, time=time.time())
    await of(service).outputs(at(end))
    labels = {"service": "ending"}
    for what, own in (("conversation", {}), ("turn", {}), ("queue", {"topic": "conversation.finished"})):
        assert REGISTRY.get_sample_value(f"soliloquy_{what}_seconds_count", labels | own) == 1


async def test_the_time_for_which_a_conversation_was_held_is_in_no_period() -> None:
    held = replace(
        started("c1"), topic="turn.held", began={"conversation": 100.0, "turn": 130.0}, time=time.time() - 50
    )

    async def go_on(message: events_pb2.TurnHeld) -> Outcome:
        return emit(events_pb2.ConversationFinished(conversation=message.conversation))

    service = Service(name="going-on", handlers={events_pb2.TurnHeld: go_on})
    (finished,) = await of(service).outputs(at(held))
    assert finished.began == pytest.approx({"conversation": 150.0, "turn": 180.0}, abs=5)


async def test_each_try_gets_the_message_as_it_came() -> None:
    seen: list[str] = []

    async def meddle(message: Started) -> Outcome:
        seen.append(message.conversation.id)
        message.conversation.id = "changed"
        raise Transient("busy")

    with pytest.raises(Transient, match="busy"):
        await handling(meddle).outputs(at(started("c1")))
    assert seen == ["c1", "c1", "c1"]


async def test_a_handler_that_is_cancelled_from_within_has_failed() -> None:
    async def cancelled(_message: Started) -> Outcome:
        raise asyncio.CancelledError

    with pytest.raises(Interrupted, match="not by its stage"):
        await handling(cancelled).outputs(at(started("c1")))


@pytest.mark.parametrize("escape", ["returns", "raises"])
async def test_a_cancelled_handler_has_no_outcome_whatever_it_does(escape: str) -> None:
    begun = asyncio.Event()

    async def stubborn(_message: Started) -> Outcome:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if escape == "raises":
                raise ValueError("disguised") from None
        return emit()

    task = asyncio.create_task(handling(stubborn).outputs(at(started("c1"))))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_handler_that_asks_for_the_delivery_receives_it() -> None:
    async def place(_: Started, delivery: Delivery) -> Outcome:
        return emit(events_pb2.StudentReplied(conversation=Conversation(id=f"{delivery.offset}")))

    service = Service(name="placing", delivery_handlers={Started: place})
    (replied,) = await of(service).outputs(at(started("c1")))
    assert replied.key == "7"


# A conversation that fits each need, and one that does not.
FITTING: dict[str, Callable[[Conversation], object]] = {
    "problem": lambda it: it.problem.CopyFrom(Problem(question="How far?")),
    "no turn": lambda it: it.ClearField("turns"),
    "open turn": lambda it: _turn(it).ClearField("tutor"),
    "calculation": lambda it: _turn(it).calculation.CopyFrom(Calculation(description="3 / 4")),
    "program": lambda it: _turn(it).calculation.attempts.add(code="x = 3 / 4"),
    "whole turns": lambda it: it.ClearField("turns"),
    "reply": lambda it: _turn(it).tutor.CopyFrom(TutorReply(text="Why?")),
    "ending": lambda it: setattr(it, "ending", Ending.ENDING_SOLVED),
}
LACKING: dict[str, Callable[[Conversation], object]] = {
    "problem": lambda it: it.ClearField("problem"),
    "no turn": lambda it: it.turns.add(number=1),
    "open turn": lambda it: it.ClearField("turns"),
    "calculation": lambda it: it.turns[-1].ClearField("calculation"),
    "program": lambda it: it.turns[-1].calculation.ClearField("attempts"),
    "whole turns": lambda it: it.turns.add(number=1),
    "reply": lambda it: it.turns[-1].ClearField("tutor"),
    "ending": lambda it: setattr(it, "ending", 99),
}
NEEDED = [(topic.name, need) for topic in TOPICS.values() for need in topic.needs]


def _turn(conversation: Conversation) -> Turn:
    return conversation.turns[-1] if conversation.turns else conversation.turns.add(number=1)


def _fitting(topic: str) -> Conversation:
    conversation = Conversation(id="c1", run=Run(id="r1"))
    for need in TOPICS[topic].needs:
        FITTING[need](conversation)
    return conversation


async def _handled(topic: str, conversation: Conversation) -> list[Conversation]:
    """Returns what the handler of the topic was given."""
    given = []

    async def take(message: Any) -> Outcome:
        given.append(message.conversation)
        return emit()

    message: Any = TOPICS[topic].message
    event = first_event(message(conversation=conversation), source="test", time=0.0)
    await of(Service(name="contract", handlers={message: take})).outputs(at(replace(event, began={})))
    return given


@pytest.mark.parametrize("topic", sorted({topic for topic, _ in NEEDED}))
async def test_a_conversation_that_fits_is_handled(topic: str) -> None:
    assert await _handled(topic, _fitting(topic)) == [_fitting(topic)]


@pytest.mark.parametrize(("topic", "need"), NEEDED)
async def test_a_conversation_that_lacks_what_its_topic_needs_is_refused_for_good(topic: str, need: str) -> None:
    conversation = _fitting(topic)
    LACKING[need](conversation)
    with pytest.raises(Misfit, match=f"{topic} cannot carry conversation 'c1': ") as refused:
        await _handled(topic, conversation)
    assert isinstance(refused.value, PERMANENT_ERRORS)
    assert NEEDS[need][1] in str(refused.value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda it: setattr(it.turns[0], "number", 7), "its turn 1 has the number 7"),
        (lambda it: it.turns.insert(0, it.turns[0]), "its turn 2 has the number 1"),
        (lambda it: setattr(it, "attempt", -(2**31)), "it is attempt -2147483648"),
        (lambda it: setattr(it, "ordinal", -1), "at problem -1"),
        (lambda it: setattr(it, "ordinal", 2**63 - 1), "at problem 9223372036854775807"),
    ],
)
async def test_wrong_counts_are_refused_on_every_topic(change: Callable[[Conversation], object], why: str) -> None:
    conversation = _fitting("reply.needed")
    change(conversation)
    with pytest.raises(Misfit, match=why):
        await _handled("reply.needed", conversation)


def test_topics_need_what_the_contract_knows() -> None:
    assert {need for _, need in NEEDED} == NEEDS.keys()
