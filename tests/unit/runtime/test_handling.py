"""One event through its handler."""

import asyncio
import time
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.cancelled import CancelledRuns
from soliloquy.runtime.events import Event, Outcome, emit
from soliloquy.runtime.handling import Handler, Handling, Interrupted, Service
from soliloquy.runtime.metrics import topic_metrics
from soliloquy.runtime.retry import RetryPolicy, Transient
from soliloquy.runtime.transports.port import Delivery, Partition
from soliloquy.v1 import events_pb2
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem
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
