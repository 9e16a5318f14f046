"""Sends events of 2 KB through stages that do nothing: as fast as they go, at a fixed rate, or for long."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import islice

from google.protobuf.message import Message

from benchmarks.figures import quantile
from benchmarks.processes import own_resident_mib
from benchmarks.transports import Client
from soliloquy.runtime.events import Event, Outcome, emit, first_event
from soliloquy.runtime.handling import Handler, Service
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeWritten, ReplyNeeded, StudentReplied

EVENT_BYTES = 2048
KEYS = 1000
MAX_IN_FLIGHT = 256
GRACE_SECONDS = 5.0
BATCH = 500
WARM_UP = 200
# Publishing waits while more events are unread, as admission keeps a run's backlog short.
BACKLOG = 4000
_MIB = 1024 * 1024

# The first event of a measurement; no other stage reads or writes it.
FirstEvent = StudentReplied | CalculationNeeded


async def saturated(client: Client, batches: int) -> dict[str, float]:
    """Measures one stage that finds its events waiting and answers each with one of the same size."""
    events = batches * BATCH
    answered, done = 0, asyncio.Event()
    began = ended = 0.0

    async def answer(message: StudentReplied) -> Outcome:
        nonlocal answered, began, ended
        began = began or time.perf_counter()
        answered += 1
        if answered == events:
            ended = time.perf_counter()
            done.set()
        return emit(ReplyNeeded(conversation=message.conversation))

    for _ in range(batches):
        await client.publish([_event(StudentReplied(), number) for number in islice(client.numbers, BATCH)])
    cpu = time.process_time()
    async with _serving(client, _service("alone", {StudentReplied: answer})):
        await done.wait()
    cpu = time.process_time() - cpu
    return {"events_per_cpu_second": events / cpu, "events_per_second": events / (ended - began)}


async def paced(client: Client, *, rate: float, seconds: float) -> dict[str, float]:
    """Publishes events when they are due, and times each from then to the second handler."""
    due: dict[int, float] = {}
    latencies: list[float] = []
    warmed = 0
    warm, done = asyncio.Event(), asyncio.Event()
    events = int(rate * seconds)

    async def look(message: CodeWritten) -> Outcome:
        nonlocal warmed
        if published := due.get(message.conversation.ordinal):
            latencies.append(time.perf_counter() - published)
        else:
            warmed += 1
        if warmed == WARM_UP:
            warm.set()
        if len(latencies) == events:
            done.set()
        return emit()

    async with _two_stages(client, look), asyncio.TaskGroup() as tasks:
        await client.publish([_event(CalculationNeeded(), number) for number in islice(client.numbers, WARM_UP)])
        await warm.wait()
        started = time.perf_counter()
        for position in range(events):
            number = next(client.numbers)
            due[number] = started + position / rate
            await asyncio.sleep(due[number] - time.perf_counter())
            tasks.create_task(_published(client, _event(CalculationNeeded(), number)))
        await done.wait()
    return {f"p{part}_ms": quantile(latencies, part / 100) * 1000 for part in (50, 99)}


async def lasting(client: Client, batches: int) -> dict[str, float]:
    """Measures two stages for long enough to see memory and file grow."""
    events = batches * BATCH
    answered = 0
    done, room = asyncio.Event(), asyncio.Event()
    sizes: list[float] = []

    async def count(_message: CodeWritten) -> Outcome:
        nonlocal answered
        answered += 1
        if answered % BATCH == 0:
            room.set()
        if answered in (events // 2, events):
            sizes.append(own_resident_mib())
        if answered == events:
            done.set()
        return emit()

    async with _two_stages(client, count):
        wall, cpu = time.perf_counter(), time.process_time()
        for published in range(0, events, BATCH):
            while published - answered > BACKLOG:
                room.clear()
                await room.wait()
            await client.publish([_event(CalculationNeeded(), number) for number in islice(client.numbers, BATCH)])
        await done.wait()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "events_per_cpu_second": events / cpu,
        "events_per_second": events / wall,
        "rss_mib": sizes[1],
        "rss_growth": sizes[1] / sizes[0],
        **({"file_mib": client.file.stat().st_size / _MIB} if client.file else {}),
    }


@asynccontextmanager
async def _two_stages(client: Client, handler: Callable[[CodeWritten], Awaitable[Outcome]]) -> AsyncIterator[None]:
    async def pass_on(message: CalculationNeeded) -> Outcome:
        return emit(CodeWritten(conversation=message.conversation))

    first = _service("first", {CalculationNeeded: pass_on})
    async with _serving(client, first, _service("second", {CodeWritten: handler})):
        yield


@asynccontextmanager
async def _serving(client: Client, *services: Service) -> AsyncIterator[None]:
    stages = [client.stage(service) for service in services]
    async with asyncio.TaskGroup() as tasks:
        for stage in stages:
            tasks.create_task(stage.run())
        yield
        for stage in stages:
            stage.stop(GRACE_SECONDS)


def _service(name: str, handlers: Mapping[type[Message], Handler]) -> Service:
    return Service(name=name, handlers=handlers, max_in_flight=MAX_IN_FLIGHT)


async def _published(client: Client, event: Event) -> None:
    await client.publish([event])


def _event(first: FirstEvent, number: int) -> Event:
    first.conversation.id = f"c{number % KEYS}"
    first.conversation.run.id = "bench"
    first.conversation.ordinal = number
    first.conversation.problem.question = "x" * EVENT_BYTES
    first.conversation.turns.add(number=1).calculation.attempts.add()
    return first_event(first, source="bench", time=time.time())
