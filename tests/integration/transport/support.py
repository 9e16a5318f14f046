"""Shared by the transport tests: messages, a stage that serves during a test, worker processes."""

import asyncio
import contextlib
import signal
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from google.protobuf.message import Message
from prometheus_client import REGISTRY

from soliloquy.runtime.events import ConversationEvent, Event, Outcome, emit, first_event, message_of
from soliloquy.runtime.handling import Service
from soliloquy.runtime.retry import RetryPolicy
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.transports.port import Delivery, Transport
from soliloquy.v1 import events_pb2
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.runs_pb2 import Run

Connect = Callable[[], AbstractAsyncContextManager[Transport]]

QUICK = RetryPolicy(tries_in_place=3, pause=0.001, attempts=3, backoff=0.02, backoff_cap=0.05)


def started(key: str, ordinal: int = 0, run: str = "r1") -> Event:
    problem = Problem(question="How long is a piece of string?")
    conversation = Conversation(id=key, run=Run(id=run), ordinal=ordinal, problem=problem)
    return first_event(events_pb2.ConversationStarted(conversation=conversation), source="test", time=time.time())


def undecodable(key: str) -> Event:
    return replace(started(key), payload=b"\xff\xff\xff")


async def reply(message: events_pb2.ConversationStarted) -> Outcome:
    return emit(events_pb2.StudentReplied(conversation=message.conversation))


def place(message: Message) -> tuple[str, int]:
    """Returns the key and ordinal of a message's conversation."""
    assert isinstance(message, ConversationEvent)
    return message.conversation.id, message.conversation.ordinal


def student(handler: Callable[[events_pb2.ConversationStarted], Awaitable[Outcome]], max_in_flight: int = 8) -> Service:
    return Service(
        name="student", handlers={events_pb2.ConversationStarted: handler}, max_in_flight=max_in_flight, retry=QUICK
    )


@asynccontextmanager
async def serving(service: Service, transport: Transport, grace: float = 5.0) -> AsyncIterator[Stage]:
    stage = Stage(service, transport)
    run = asyncio.create_task(stage.run())
    try:
        yield stage
    finally:
        stage.stop(grace)
        await run


async def held(transport: Transport, topic: str) -> list[Delivery]:
    return [delivery async for delivery in transport.read(topic)]


async def idle(transport: Transport, group: str = "student") -> bool:
    """Whether the group has joined and finished all there is."""
    backlogs = [backlog for backlog in await transport.backlog() if backlog.group == group]
    return bool(backlogs) and not any(backlog.events for backlog in backlogs)


def ordinals(deliveries: Iterable[Delivery]) -> dict[str, list[int]]:
    """Returns the ordinals of each key in the order of publication."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for delivery in deliveries:
        key, ordinal = place(message_of(delivery.event))
        found[key].append(ordinal)
    return dict(found)


def metric(name: str, service: str = "student", topic: str = "conversation.started") -> float:
    return REGISTRY.get_sample_value(name, {"service": service, "topic": topic}) or 0.0


class Worker:
    """A process that runs the student service on the transport at an address."""

    def __init__(self, adapter: str, address: str, delay: float) -> None:
        self._command = [sys.executable, "-m", "tests.integration.transport.worker", adapter, address, str(delay)]

    async def start(self) -> "Worker":
        self.process = await asyncio.create_subprocess_exec(*self._command)
        return self

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
