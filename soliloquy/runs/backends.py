"""Executes a run: by workers of its own on this machine, or by the services that share a Kafka."""

import asyncio
import contextlib
import json
import math
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from soliloquy.recipes.recipe import find
from soliloquy.runs.assignment import LOOP, Assignment
from soliloquy.runs.description import described, differences
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.plan import Plan
from soliloquy.runs.progress import SUBMITTED, overdue
from soliloquy.runs.supervision import Supervisor
from soliloquy.runs.worker import worker_spec
from soliloquy.runtime import reading
from soliloquy.runtime.events import (
    ConversationEvent,
    RunEvent,
    Undecodable,
    first_event,
    message_of,
    ordinal_of,
    run_key,
    run_of,
)
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.model.spending import Spending
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.reading import descriptions, messages, open_ordinals
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.v1.events_pb2 import ConversationFinished, RunCancelled, RunStanding, ServiceDescribed
from soliloquy.v1.runs_pb2 import Run

if TYPE_CHECKING:
    from soliloquy.runtime.model.batch_sender import BatchSenders
    from soliloquy_services.collector.journal import Journal

# Seconds that unfinished work has when a local run ends.
GRACE_SECONDS = 3.0
# A sandbox takes a core a second to boot, and fewer conversations than this would leave it idle.
CONVERSATIONS_A_SANDBOX = 8
# The events of a service that wait for answers at once, but for those of batches: calls of ten seconds keep a core busy
# with as many, and conversations beyond them wait in the log, which takes no memory.
MOST_WAITING = 1024


class LocalBackend:
    """An embedded log and worker processes, for as long as the command runs."""

    # Tells this execution of the run from others on the same transport; this one has a transport of its own.
    execution = ""
    # The offset of each partition up to which results were read; nobody can read these again.
    topics: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, plan: Plan, folder: RunFolder, workers: Supervisor, spending: Spending | None = None) -> None:
        self._workers = workers
        self._models = plan.models
        self._folder = folder
        self._spending = spending
        self._batches: BatchSenders | None = None
        # The descriptions of all services, once the run has ended.
        self.services: Mapping[str, ServiceDescribed] = {}

    @property
    def fault(self) -> str:
        """Why the run cannot go on at the moment; empty while it can."""
        return self._workers.fault

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        return [*self._workers.endpoints, *(self._batches.statuses if self._batches else ())]

    @asynccontextmanager
    async def prepared(self, run: Run, journal: "Journal") -> AsyncIterator[Transport]:
        """While the context is entered, submitted problems become conversations in the journal."""
        from soliloquy_services.collector import app as collecting
        from soliloquy_services.curriculum import app as admitting

        async with (
            open_transport(self._folder.log) as transport,
            self._open_batches() as self._batches,
            asyncio.TaskGroup() as group,
        ):
            self._transport = transport
            # The manifest in which they are is removed before it is written anew.
            await transport.publish(
                [first_event(one, source="soliloquy", time=0.0) for one in self._folder.earlier_services]
            )
            sending = group.create_task(self._batches.run()) if self._batches else None
            curriculum = Stage(described(admitting.service()), transport)
            collector = Stage(described(collecting.service(journal)), transport)
            for stage in (curriculum, collector):
                group.create_task(stage.run())
            workers = group.create_task(self._workers.run())
            yield transport
            await self._workers.stop()
            await workers
            if sending:
                sending.cancel()
            # Problems that wait for admission have not begun: there is nothing to finish.
            curriculum.stop(0.0)
            collector.stop(GRACE_SECONDS)
            self.services = await descriptions(transport)

    @asynccontextmanager
    async def _open_batches(self) -> AsyncIterator["BatchSenders | None"]:
        """Loads what only batches need; None if no endpoint is asked in batches."""
        if not self._spending or not self._models.has_batches:
            yield None
            return
        from soliloquy.runtime.model.batch_sender import open_senders

        async with open_senders(self._models, self._spending, self._folder.working) as senders:
            yield senders

    async def dead_letters(self, run: Run) -> int:
        return sum((await self._transport.dead_letters()).values())

    async def is_stuck(self, run: Run) -> bool:
        """Whether everything that is under way ended among the dead letters."""
        if not await self.dead_letters(run):
            return False
        # Problems that wait for admission have not begun.
        return not any(backlog.events for backlog in await self._transport.backlog() if backlog.topic != SUBMITTED)

    async def cancel(self, run: Run) -> int | None:
        """Returns the number of conversations dropped; None if they go on when the run does."""
        return None

    async def settle(self) -> None:
        """Ends what a settled run no longer needs: the batches that its endpoints work on."""
        if self._batches:
            await self._batches.settle()


def local_workers(plan: Plan, folder: RunFolder, traces: TraceSettings) -> Supervisor:
    assignment = worker_assignment(plan, folder, traces)
    return Supervisor([worker_spec(f"worker-{number}", assignment) for number in range(plan.workers)])


def worker_assignment(plan: Plan, folder: RunFolder, traces: TraceSettings) -> Assignment:
    """Each worker serves the five services of the loop, and the planner if problems are prepared."""
    from soliloquy_services.executor.policy import SandboxSettings

    at_once = min(plan.conversations, plan.in_flight)
    sandboxes = min(os.cpu_count() or 1, math.ceil(at_once / CONVERSATIONS_A_SANDBOX))
    return Assignment(
        services=("planner", *LOOP) if plan.enrich or plan.programs else LOOP,
        transport=folder.log,
        model=ModelSettings(
            problems=[plan.problems],
            latency=plan.latency,
            noise=plan.noise,
            models=plan.models,
            record=plan.record,
            spending=folder.spending,
        ),
        sandbox=SandboxSettings(sandboxes=max(1, sandboxes // plan.workers)),
        classifiers=plan.classifiers,
        traces=traces,
        at_once=at_once if plan.models.has_batches else min(at_once, MOST_WAITING),
        grace=GRACE_SECONDS,
    )


FINISHED = TOPIC_OF[ConversationFinished].name
STANDING = TOPIC_OF[RunStanding].name
# The position in the results is saved this often; results behind it are read again and recognized by their ids.
NOTE_SECONDS = 1.0
LOOK_SECONDS = 1.0
# The backlog of all services is read this often.
OVERDUE_SECONDS = 15.0
# An interrupted run waits this long for the curriculum to confirm that nothing is under way.
CANCEL_SECONDS = 5.0


class KafkaBackend:
    """Services that `soliloquy up` or a cluster keeps running. Results are read from their topic, without a group."""

    # The services wait for their endpoints, and say so themselves.
    endpoints: Sequence[EndpointStatus] = ()

    def __init__(self, plan: Plan, settings: KafkaSettings, folder: RunFolder, tell: Callable[[str], None]) -> None:
        """`tell` hears which services differ from the plan."""
        self._plan = plan
        self._settings = settings
        self._tell = tell
        self.services: Mapping[str, ServiceDescribed] = {}
        self._note = folder.working / "kafka.json"
        self._positions: dict[int, int] = {}
        self._cancelled = False
        self.fault = ""
        self.execution = uuid.uuid4().hex[:8]
        if self._note.exists():
            noted = json.loads(self._note.read_bytes())
            self.execution = noted["growing"]
            self._positions = {int(number): offset for number, offset in noted["positions"].items()}

    @property
    def topics(self) -> Mapping[str, Any]:
        return {FINISHED: {str(number): offset for number, offset in sorted(self._positions.items())}}

    @asynccontextmanager
    async def prepared(self, run: Run, journal: "Journal") -> AsyncIterator[Transport]:
        async with open_transport(self._settings) as transport, asyncio.TaskGroup() as group:
            self._transport = transport
            if differ := await differences(transport, self._plan.models, self._plan.noise):
                self._tell(f"services differ from what this run was told ({differ}); the manifest says which took part")
            ends = await transport.ends(FINISHED)
            # Results from before the run began belong to other runs.
            self._positions = self._positions or ends
            self._write_note()
            caught_up = asyncio.Event()
            collecting = group.create_task(self._collect(run, journal, ends, caught_up))
            # Problems with a result in the topic need not be submitted again.
            await caught_up.wait()
            looking = group.create_task(self._look())
            yield transport
            collecting.cancel()
            looking.cancel()
            with contextlib.suppress(Unanswered):
                self.services = await descriptions(transport)
            self._write_note()

    async def dead_letters(self, run: Run) -> int:
        return len(await self._dead_ordinals(run))

    async def is_stuck(self, run: Run) -> bool:
        try:
            dead = await self._dead_ordinals(run)
            return bool(dead) and await open_ordinals(self._transport, run) <= dead
        except Unanswered:
            return False

    async def cancel(self, run: Run) -> int | None:
        dropped = len(await open_ordinals(self._transport, run))
        # A cancelled execution is never resumed; the next start uses a new id.
        self._cancelled = True
        self._note.unlink()
        ends = await self._transport.ends(STANDING)
        cancelled = first_event(RunCancelled(run=run), source="soliloquy", time=time.time())
        why = "the run is not cancelled: is Kafka up, and are all topics there (`soliloquy topics plan`)?"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS), aclosing(self._transport.follow(STANDING, ends)) as heard:
                await self._transport.publish([cancelled])
                seconds = f"{CANCEL_SECONDS:g} s"
                why = f"no curriculum confirmed the cancellation within {seconds}; it takes effect when one is up"
                async for delivery in heard:
                    if delivery.event.key == cancelled.key:
                        return dropped
        raise KafkaUnavailable(why)

    async def settle(self) -> None:
        """Leaves everything to the services."""

    async def _look(self) -> None:
        """Keeps `fault` up to date."""
        late, read_at = "", time.monotonic()
        while True:
            try:
                await self._transport.dead_letters()
                if time.monotonic() - read_at >= OVERDUE_SECONDS:
                    late, read_at = overdue(await self._transport.backlog()), time.monotonic()
                self.fault = self._transport.fault or late
            except Unanswered as error:
                self.fault = str(error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _collect(self, run: Run, journal: "Journal", ends: dict[int, int], caught_up: asyncio.Event) -> None:
        noted_at = time.monotonic()
        if self._is_past(ends):
            caught_up.set()
        async for delivery in self._transport.follow(FINISHED, self._positions):
            # The collector turns an undecodable event into a dead letter and logs it.
            with contextlib.suppress(Undecodable):
                message = message_of(event := delivery.event)
                assert isinstance(message, ConversationFinished)
                conversation = message.conversation
                if run_key(conversation.run) == run_key(run):
                    await journal.add(conversation, find(run.recipe).faults(conversation), lineage=event.lineage)
            self._positions[delivery.partition.number] = delivery.offset + 1
            if self._is_past(ends):
                caught_up.set()
            if time.monotonic() - noted_at >= NOTE_SECONDS:
                noted_at = time.monotonic()
                self._write_note()

    def _is_past(self, ends: dict[int, int]) -> bool:
        return all(self._positions.get(number, 0) >= end for number, end in ends.items())

    async def _dead_ordinals(self, run: Run) -> set[int | None]:
        """Returns the problems of the run that ended among the dead letters; undecodable letters belong to no run."""
        found: set[int | None] = set()
        if await self._transport.dead_letters():
            async for _, message in messages(reading.letters(self._transport)):
                assert isinstance(message, ConversationEvent | RunEvent)
                if run_key(run_of(message)) == run_key(run):
                    found.add(ordinal_of(message))
        return found

    def _write_note(self) -> None:
        if self._cancelled:
            return
        with atomic_file(self._note) as file:
            file.write(json.dumps({"growing": self.execution, "positions": self._positions}).encode())
