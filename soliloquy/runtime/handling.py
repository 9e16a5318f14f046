"""Runs the handler of one event and retries short faults in place."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.message import DecodeError, Message

from soliloquy.runtime import contract, events
from soliloquy.runtime.cancelled import CancelledRuns
from soliloquy.runtime.lineage import extended, short_digest
from soliloquy.runtime.metrics import TOOK, TopicMetrics
from soliloquy.runtime.retry import Refused, RetryPolicy, Transient
from soliloquy.runtime.topics import TOPIC_OF, TOPICS, origin
from soliloquy.runtime.traces import spans
from soliloquy.runtime.transports.port import Delivery
from soliloquy.v1.events_pb2 import RunCancelled, ServiceDescribed

Handler = Callable[[Any], Awaitable[events.AnyOutcome]]
# Also receives the delivery that carried its message.
DeliveryHandler = Callable[[Any, Delivery], Awaitable[events.AnyOutcome]]

# Retrying cannot help, whatever the handler or the services behind it do.
PERMANENT_ERRORS = (Refused, DecodeError, events.Undecodable, events.EventTooLarge, events.UnknownTopic)


class Interrupted(Exception):
    """The handler was cancelled by something other than its stage."""


class NotYet(Exception):
    """The event waits in place, without occupying a worker, until a future is done."""

    def __init__(self, until: asyncio.Future[None]) -> None:
        super().__init__("not yet")
        self.until = until


# The events that a service handles at once if it waits for a model most of the time.
MODEL_BOUND = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A service as its stage sees it."""

    name: str
    # Published before it handles anything.
    description: ServiceDescribed | None = None
    handlers: Mapping[type[Message], Handler] = field(default_factory=dict)
    delivery_handlers: Mapping[type[Message], DeliveryHandler] = field(default_factory=dict)
    # Events handled at once.
    max_in_flight: int = 64
    # Limits the unfinished events of one partition; services whose events wait long need more room.
    max_fetched: int | None = None
    # The types that its handlers return.
    emits: Sequence[type[Message]] = ()
    # Each receives the latest event of every key in partitions of a topic, before the stage handles events of these.
    tables: Mapping[type[Message], Callable[[Sequence[Any]], None]] = field(default_factory=dict)
    # Each receives all events of a topic before the stage handles anything, and then each one that comes.
    follows: Mapping[type[Message], Callable[[Any], None]] = field(default_factory=dict)
    # Read by the program itself, outside its stage.
    reads: Sequence[type[Message]] = ()
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def digest(self) -> str:
        """Identifies everything that can change its answers; empty for one that is not described."""
        return short_digest(self.description.SerializeToString(deterministic=True)) if self.description else ""

    @property
    def topics(self) -> list[str]:
        return [TOPIC_OF[message].name for message in (*self.handlers, *self.delivery_handlers)]


class Handling:
    def __init__(self, service: Service, metrics: Mapping[str, TopicMetrics], cancelled: CancelledRuns) -> None:
        self._name = service.name
        self._digest = service.digest
        self._cancelled = cancelled
        self._policy = service.retry
        self._metrics = metrics
        self._handlers = {TOPIC_OF[message].name: handler for message, handler in service.handlers.items()}
        self._delivery_handlers = {
            TOPIC_OF[message].name: handler for message, handler in service.delivery_handlers.items()
        }

    async def outputs(self, delivery: Delivery) -> list[events.Event]:
        """Handles an event and returns the events to publish."""
        event = delivery.event
        now = time.time()
        with self._span(event, now):
            self._measure_wait(event, now)
            began = time.perf_counter()
            try:
                outcome = await self._outcome(delivery)
            finally:
                seconds = time.perf_counter() - began
                self._metrics[origin(event.topic)].seconds.observe(seconds, spans.exemplar())
            if TOPICS[origin(event.topic)].waits:
                event = replace(event, began={period: at + now - event.time for period, at in event.began.items()})
            outputs = events.caused_events(event, outcome, source=self._name, time=time.time(), service=self._digest)
            for output in outputs:
                events.checked(output)
            if spans.recording():
                self._begin_traces(event, outcome, outputs, now)
        return outputs

    def _span(self, event: events.Event, now: float) -> spans.Span:
        if not spans.recording():
            return spans.NOTHING
        name = f"{self._name} {origin(event.topic)}"
        return spans.continue_trace(
            self._name, name, "consumer", event.traceparent, now, **_event_attributes(event, now)
        )

    def _begin_traces(
        self, event: events.Event, outcome: events.AnyOutcome, outputs: Sequence[events.Event], now: float
    ) -> None:
        """Starts a trace for every conversation that begins with this event, including further attempts."""
        for message, output in zip(outcome, outputs, strict=True):
            if output.traceparent not in ("", event.traceparent):
                name = f"{self._name} {origin(event.topic)}"
                spans.record_root(
                    self._name,
                    name,
                    output.traceparent,
                    now,
                    **_event_attributes(event, now),
                    **_message_attributes(message),
                )

    def _measure_wait(self, event: events.Event, now: float) -> None:
        """Observes how long the event queued, and the duration of the turn or conversation that it ends."""
        exemplar = spans.exemplar()
        self._metrics[origin(event.topic)].queued.observe(max(0.0, now - event.time), exemplar)
        for what in TOPICS[origin(event.topic)].ends:
            if what in event.began:
                TOOK[what].labels(self._name).observe(max(0.0, now - event.began[what]), exemplar)

    async def _outcome(self, delivery: Delivery) -> events.AnyOutcome:
        event = delivery.event
        message = events.message_of(event)
        assert isinstance(message, events.ConversationEvent | events.RunEvent)
        contract.check(message)
        run = events.run_of(message)
        if spans.recording():
            spans.note(**_message_attributes(message))
        if isinstance(message, RunCancelled):
            self._cancelled.add(message)
        elif run in self._cancelled:
            self._metrics[origin(event.topic)].cancelled.inc()
            return ()
        try:
            with self._cancelled.interrupting(run):
                return await self._run_with_retries(delivery, message)
        except NotYet as waiting:
            self._cancelled.wake(run, waiting.until)
            raise
        self._metrics[origin(event.topic)].cancelled.inc()
        return ()

    async def _run_with_retries(self, delivery: Delivery, message: Message) -> events.AnyOutcome:
        event = delivery.event
        tries = 0
        while True:
            tries += 1
            try:
                return await _unless_cancelled(self._begin(message, delivery))
            except Transient as fault:
                spans.event("tried again", error=type(fault).__name__)
                if tries == self._policy.tries_in_place:
                    raise
            self._metrics[origin(event.topic)].retries.inc()
            await asyncio.sleep(self._policy.pause_after(event, tries))
            # The failed handler may have changed its message.
            message = events.message_of(event)

    def _begin(self, message: Message, delivery: Delivery) -> Awaitable[events.AnyOutcome]:
        event = delivery.event
        topic = origin(event.topic)
        if handler := self._delivery_handlers.get(topic):
            touched = replace(event, lineage=extended(event.lineage, self._digest))
            return handler(message, replace(delivery, event=touched))
        return self._handlers[topic](message)


def _event_attributes(event: events.Event, now: float) -> dict[str, spans.Attribute]:
    return {
        "topic": event.topic,
        "event": event.id,
        "queue_seconds": max(0.0, now - event.time),
        "attempt": event.attempt,
        "replayed": event.replayed,
    }


def _message_attributes(message: events.ConversationEvent | events.RunEvent) -> dict[str, spans.Attribute]:
    if not isinstance(message, events.ConversationEvent):
        return {"run": message.run.id}
    conversation = message.conversation
    return {"run": conversation.run.id, "conversation": conversation.id, "turn": len(conversation.turns)}


async def _unless_cancelled(run: Awaitable[events.AnyOutcome]) -> events.AnyOutcome:
    """Returns the outcome. If the stage cancels the task, a handler that ignores it has no outcome."""
    task = asyncio.current_task()
    assert task
    try:
        return await run
    except asyncio.CancelledError as error:
        raise Interrupted("the handler was cancelled, but not by its stage: look for a timeout in it") from error
    finally:
        if task.cancelling():
            raise asyncio.CancelledError
