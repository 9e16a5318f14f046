"""One event through its handler: short faults are tried again on the spot."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from services.runtime.events import (
    Event,
    EventTooLarge,
    Outcome,
    Undecodable,
    UnknownTopic,
    caused_events,
    checked,
    message_of,
)
from services.runtime.metrics import TopicMetrics
from services.runtime.retry import Refused, RetryPolicy, Transient
from services.runtime.topics import TOPIC_OF, origin

Handler = Callable[[Any], Awaitable[Outcome]]

# What can never work, whatever the handler or the services behind it do.
HOPELESS = (Refused, Undecodable, EventTooLarge, UnknownTopic)


class Interrupted(Exception):
    """The handler was cancelled by something of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A service's name, its handler of each message it reads, and how many it runs at once."""

    name: str
    handlers: Mapping[type[Message], Handler]
    max_in_flight: int = 64
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def topics(self) -> list[str]:
        return [TOPIC_OF[message].name for message in self.handlers]


class Handling:
    def __init__(self, service: Service, metrics: Mapping[str, TopicMetrics]) -> None:
        self._name = service.name
        self._policy = service.retry
        self._metrics = metrics
        self._handlers = dict(zip(service.topics, service.handlers.values(), strict=True))

    async def outputs(self, event: Event) -> list[Event]:
        """The events that follow from one, fit to be published."""
        began = time.perf_counter()
        try:
            outcome = await self._outcome(event)
        finally:
            self._metrics[origin(event.topic)].seconds.observe(time.perf_counter() - began)
        outputs = caused_events(event, outcome, source=self._name, time=time.time())
        for output in outputs:
            checked(output)
        return outputs

    async def _outcome(self, event: Event) -> Outcome:
        handler = self._handlers[origin(event.topic)]
        tries = 0
        while True:
            tries += 1
            try:
                return await _undisturbed(handler(message_of(event)))
            except Transient:
                if tries == self._policy.tries_in_place:
                    raise
            self._metrics[origin(event.topic)].retries.inc()
            await asyncio.sleep(self._policy.pause_after(event, tries))


async def _undisturbed(run: Awaitable[Outcome]) -> Outcome:
    """Its outcome, unless this task is to end: then a handler that goes on regardless has none."""
    task = asyncio.current_task()
    assert task
    try:
        return await run
    except asyncio.CancelledError as error:
        raise Interrupted("the handler was cancelled, but not by its stage: look for a timeout in it") from error
    finally:
        if task.cancelling():
            raise asyncio.CancelledError
