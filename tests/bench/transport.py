"""How many 2 KB events a second go through one stage over the embedded log, and what memory and file do meanwhile."""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from soliloquy.v1 import events_pb2

from services.runtime.events import Event, Outcome, emit, first_event
from services.runtime.handling import Service
from services.runtime.stage import Stage
from services.runtime.transports.embedded import EmbeddedTransport

EVENTS = 100_000
EVENT_BYTES = 2048
KEYS = 1000
# Published while this many are unread, so that the backlog stays what a run's admission would let be.
BACKLOG = 4000
MEGABYTE = 1024 * 1024


async def measure(events: int = EVENTS) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        async with EmbeddedTransport(Path(scratch) / "stage.db") as transport:
            figures = await _one_stage(transport, min(events, 20_000))
        path = Path(scratch) / "two.db"
        async with EmbeddedTransport(path) as transport:
            return figures | await _two_stages(transport, path, events)


async def _one_stage(transport: EmbeddedTransport, events: int) -> dict[str, float]:
    """A stage that finds its events waiting and answers each with one of its size."""
    answered, done = 0, asyncio.Event()

    async def answer(message: events_pb2.StudentReplied) -> Outcome:
        nonlocal answered
        answered += 1
        if answered == events:
            done.set()
        return emit(events_pb2.TutorReplied(conversation=message.conversation))

    for first in range(0, events, 500):
        await transport.publish([_event(number) for number in range(first, min(first + 500, events))])
    service = Service(name="tutor", handlers={events_pb2.StudentReplied: answer}, max_in_flight=256)
    stage = Stage(service, transport)
    wall, cpu = time.perf_counter(), time.process_time()
    run = asyncio.create_task(stage.run())
    await done.wait()
    stage.stop(1.0)
    await run
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"one_stage_events_per_second": events / wall, "one_stage_events_per_cpu_second": events / cpu}


async def _two_stages(transport: EmbeddedTransport, path: Path, events: int) -> dict[str, float]:
    """Publish, answer and read the answer, for as long as it takes to see what memory and file do."""
    answered = 0
    half, done, room = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer(message: events_pb2.StudentReplied) -> Outcome:
        return emit(events_pb2.TutorReplied(conversation=message.conversation))

    async def swallow(_message: events_pb2.TutorReplied) -> Outcome:
        nonlocal answered
        answered += 1
        if answered % 1000 == 0:
            room.set()
        if answered == events // 2:
            half.set()
        if answered == events:
            done.set()
        return emit()

    stages = [
        Stage(Service(name="tutor", handlers={events_pb2.StudentReplied: answer}, max_in_flight=256), transport),
        Stage(Service(name="student", handlers={events_pb2.TutorReplied: swallow}, max_in_flight=256), transport),
    ]
    async with asyncio.TaskGroup() as tasks:
        for stage in stages:
            tasks.create_task(stage.run())
        figures: dict[str, float] = {"rss_start_mb": _rss()}
        wall, cpu = time.perf_counter(), time.process_time()
        for first in range(0, events, 500):
            while first - answered > BACKLOG:
                room.clear()
                await room.wait()
            await transport.publish([_event(number) for number in range(first, min(first + 500, events))])
            if half.is_set():
                figures.setdefault("rss_middle_mb", _rss())
        await done.wait()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        figures |= {"rss_end_mb": _rss(), "file_mb": path.stat().st_size / MEGABYTE}
        for stage in stages:
            stage.stop(1.0)
    return figures | {"two_stages_events_per_second": events / wall, "two_stages_events_per_cpu_second": events / cpu}


def _event(number: int) -> Event:
    message = events_pb2.StudentReplied()
    message.conversation.id = f"c{number % KEYS}"
    message.conversation.ordinal = number
    message.conversation.problem.question = "x" * EVENT_BYTES
    return first_event(message, source="bench", time=time.time())


def _rss() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


if __name__ == "__main__":
    figures = asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS))
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):>34}  {value:>10,.1f}")
