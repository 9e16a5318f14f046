"""Where a run grows: with worker processes of its own on this machine, or with the services of a Kafka."""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import services.collector.app
import services.curriculum.app
from services.collector.journal import Journal
from services.collector.settings import CollectorSettings
from services.curriculum.settings import CurriculumSettings
from soliloquy.recipes.recipe import find
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.plan import Plan
from soliloquy.runs.workers import GRACE_SECONDS, Workers
from soliloquy.runtime import dead_letters
from soliloquy.runtime.events import (
    ConversationEvent,
    RunEvent,
    Undecodable,
    first_event,
    message_of,
    run_key,
    run_of,
)
from soliloquy.runtime.passing import messages
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.standing import under_way
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.traces.settings import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.v1.events_pb2 import ConversationFinished, ProblemSubmitted, RunCancelled, RunStanding
from soliloquy.v1.runs_pb2 import Run

FINISHED = TOPIC_OF[ConversationFinished].name
SUBMITTED = TOPIC_OF[ProblemSubmitted].name
STANDING = TOPIC_OF[RunStanding].name
# How far the results were read is noted so often; what comes after is read again and known by its id.
NOTE_SECONDS = 1.0
# How long an interrupted run waits to hear that nothing of it is under way.
CANCEL_SECONDS = 5.0


class RunBackend(Protocol):
    # Which growing of its run this is; empty where the run has a transport of its own.
    growing: str

    @property
    def topics(self) -> Mapping[str, Any]:
        """Behind which offset of each partition what finished was read; nothing where nobody can read it again."""

    @property
    def fault(self) -> str:
        """Why the run cannot go on at the moment; empty while it can."""

    def prepared(self, run: Run, journal: Journal) -> AbstractAsyncContextManager[Transport]:
        """While it is entered, problems that are submitted become conversations in the journal."""

    async def dead_letters(self, run: Run) -> int:
        """How many events of the run were given up."""

    async def stands_still(self, run: Run) -> bool:
        """Whether all that is under way has become dead letters."""

    async def cancel(self, run: Run) -> int | None:
        """How many conversations under way are dropped; None where they go on when the run does."""


class LocalBackend:
    """An embedded log and worker processes, for as long as the command runs."""

    growing = ""
    topics: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, plan: Plan, log: Path, traces: TraceSettings) -> None:
        self._workers = Workers(plan, log, traces)
        self._log = log

    @property
    def fault(self) -> str:
        return self._workers.fault

    @asynccontextmanager
    async def prepared(self, run: Run, journal: Journal) -> AsyncIterator[Transport]:
        async with open_transport(self._log) as transport, asyncio.TaskGroup() as group:
            self._transport = transport
            curriculum = Stage(services.curriculum.app.service(CurriculumSettings()), transport)
            collector = Stage(services.collector.app.service(CollectorSettings(), journal), transport)
            for stage in (curriculum, collector):
                group.create_task(stage.run())
            workers = group.create_task(self._workers.run())
            yield transport
            await self._workers.stop()
            await workers
            # A problem that waits for room has not begun: there is nothing to finish.
            curriculum.stop(0.0)
            collector.stop(GRACE_SECONDS)

    async def dead_letters(self, run: Run) -> int:
        return sum((await self._transport.dead_letters()).values())

    async def stands_still(self, run: Run) -> bool:
        if not await self.dead_letters(run):
            return False
        backlogs = await self._transport.backlog()
        # Problems that wait for room have not begun.
        return not any(backlog.events for backlog in backlogs if backlog.topic != SUBMITTED)

    async def cancel(self, run: Run) -> int | None:
        return None


class KafkaBackend:
    """Services that others keep running. What finishes is read from its topic, as a member of no group."""

    def __init__(self, settings: KafkaSettings, folder: RunFolder) -> None:
        self._settings = settings
        self._note = folder.working / "kafka.json"
        self._positions: dict[int, int] = {}
        self._cancelled = False
        self.fault = ""
        self.growing = uuid.uuid4().hex[:8]
        if self._note.exists():
            noted = json.loads(self._note.read_bytes())
            self.growing = noted["growing"]
            self._positions = {int(number): offset for number, offset in noted["positions"].items()}

    @property
    def topics(self) -> Mapping[str, Any]:
        return {FINISHED: {str(number): offset for number, offset in sorted(self._positions.items())}}

    @asynccontextmanager
    async def prepared(self, run: Run, journal: Journal) -> AsyncIterator[Transport]:
        async with open_transport(self._settings) as transport, asyncio.TaskGroup() as group:
            self._transport = transport
            ends = await transport.ends(FINISHED)
            # What finished before this run began is none of it.
            self._positions = self._positions or ends
            self._write_note()
            caught_up = asyncio.Event()
            collecting = group.create_task(self._collect(run, journal, ends, caught_up))
            # What is in the topic already needs not be submitted again.
            await caught_up.wait()
            yield transport
            collecting.cancel()
            self._write_note()

    async def dead_letters(self, run: Run) -> int:
        return len(await self._dead_ordinals(run))

    async def stands_still(self, run: Run) -> bool:
        try:
            dead = await self._dead_ordinals(run)
            self.fault = ""
            return bool(dead) and await under_way(self._transport, run) <= dead
        except Unanswered as error:
            self.fault = str(error)
            return False

    async def cancel(self, run: Run) -> int | None:
        dropped = len(await under_way(self._transport, run))
        # This growing never comes back: the next start has another grow what is missing.
        self._cancelled = True
        self._note.unlink()
        ends = await self._transport.ends(STANDING)
        cancelled = first_event(RunCancelled(run=run), source="soliloquy", time=time.time())
        await self._transport.publish([cancelled])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS), aclosing(self._transport.follow(STANDING, ends)) as heard:
                async for delivery in heard:
                    if delivery.event.key == cancelled.key:
                        return dropped
        raise KafkaUnavailable(
            f"no curriculum has heard within {CANCEL_SECONDS:g} s that the run is cancelled; it will when it is up"
        )

    async def _collect(self, run: Run, journal: Journal, ends: dict[int, int], caught_up: asyncio.Event) -> None:
        noted_at = time.monotonic()
        if self._is_past(ends):
            caught_up.set()
        async for delivery in self._transport.follow(FINISHED, self._positions):
            # One that cannot be decoded is given up by the collector, which says so.
            with contextlib.suppress(Undecodable):
                message = message_of(delivery.event)
                assert isinstance(message, ConversationFinished)
                conversation = message.conversation
                if run_key(conversation.run) == run_key(run):
                    await journal.add(conversation, find(run.recipe).faults(conversation))
            self._positions[delivery.partition.number] = delivery.offset + 1
            if self._is_past(ends):
                caught_up.set()
            if time.monotonic() - noted_at >= NOTE_SECONDS:
                noted_at = time.monotonic()
                self._write_note()

    def _is_past(self, ends: dict[int, int]) -> bool:
        return all(self._positions.get(number, 0) >= end for number, end in ends.items())

    async def _dead_ordinals(self, run: Run) -> set[int]:
        """The problems of the run that ended among the dead letters; nobody knows whose an undecodable one is."""
        found = set()
        if await self._transport.dead_letters():
            async for _, message in messages(dead_letters.letters(self._transport)):
                assert isinstance(message, ConversationEvent | RunEvent)
                if run_key(run_of(message)) == run_key(run):
                    found.add(_ordinal_of(message))
        return found

    def _write_note(self) -> None:
        if self._cancelled:
            return
        unfinished = self._note.with_suffix(".unfinished")
        unfinished.write_text(json.dumps({"growing": self.growing, "positions": self._positions}), "utf-8")
        unfinished.replace(self._note)


def _ordinal_of(message: ConversationEvent | RunEvent) -> int:
    if isinstance(message, ConversationEvent):
        return message.conversation.ordinal
    return message.ordinal if isinstance(message, ProblemSubmitted) else -1
