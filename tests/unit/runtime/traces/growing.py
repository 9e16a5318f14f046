"""Conversations of a few hops over an embedded log, traced to a collector on this machine."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from soliloquy.runtime.events import Event, Outcome, emit, first_event
from soliloquy.runtime.handling import Service
from soliloquy.runtime.retry import RetryPolicy
from soliloquy.runtime.traces.export import sending
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1 import events_pb2
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from tests.integration.transport.support import QUICK, idle, serving
from tests.traces.collector import PATH, Collector
from tests.waiting import until

RUN = Run(id="r1", recipe="soliloquy", in_flight=1000)
Reply = Callable[[events_pb2.ConversationStarted], Awaitable[Outcome]]


def submitted(ordinal: int) -> Event:
    problem = Problem(id=f"p{ordinal}", question="How long is a piece of string?")
    return first_event(
        events_pb2.ProblemSubmitted(run=RUN, ordinal=ordinal, problem=problem), source="test", time=time.time()
    )


def conversation_id(ordinal: int) -> str:
    return attempt_at(Problem(id=f"p{ordinal}"), run=RUN, ordinal=ordinal, attempt=0).id


async def start(message: events_pb2.ProblemSubmitted) -> Outcome:
    conversation = attempt_at(message.problem, run=message.run, ordinal=message.ordinal, attempt=0)
    return emit(events_pb2.ConversationStarted(conversation=conversation))


async def reply(message: events_pb2.ConversationStarted) -> Outcome:
    message.conversation.turns.add(number=1)
    return emit(events_pb2.StudentReplied(conversation=message.conversation))


async def decide(message: events_pb2.StudentReplied) -> Outcome:
    return emit(events_pb2.ReplyNeeded(conversation=message.conversation))


async def compose(message: events_pb2.ReplyNeeded) -> Outcome:
    return emit(events_pb2.ConversationFinished(conversation=message.conversation))


def services(reply: Reply = reply, retry: RetryPolicy = QUICK) -> list[Service]:
    return [
        Service(name="curriculum", handlers={events_pb2.ProblemSubmitted: start}, retry=retry),
        Service(name="student", handlers={events_pb2.ConversationStarted: reply}, retry=retry),
        Service(name="tutor", handlers={events_pb2.StudentReplied: decide}, retry=retry),
        Service(name="composer", handlers={events_pb2.ReplyNeeded: compose}, retry=retry),
    ]


@asynccontextmanager
async def traced(
    log: Path, collector: Collector, of: Sequence[Service], share: float = 1.0
) -> AsyncIterator[EmbeddedTransport]:
    """Sends the remaining spans on exit."""
    with sending(collector.url + PATH, share):
        async with EmbeddedTransport(log) as transport, AsyncExitStack() as stages:
            for service in of:
                await stages.enter_async_context(serving(service, transport))
            yield transport


async def grown(transport: EmbeddedTransport, conversations: int) -> None:
    await transport.publish([submitted(ordinal) for ordinal in range(conversations)])
    for service in services():
        await until(lambda name=service.name: idle(transport, name))  # type: ignore[misc]
