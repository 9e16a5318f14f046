"""Executes a run by workers of its own on this machine."""

import asyncio
import math
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from soliloquy.runs.assignment import LOOP, Assignment
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.plan import Plan
from soliloquy.runs.progress import SUBMITTED
from soliloquy.runs.supervision import ProcessSpec, Supervisor, worker_spec
from soliloquy.runtime.model.spending import Spending
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.runs_pb2 import Run

if TYPE_CHECKING:
    from soliloquy.runtime.model.batch_sender import BatchSenders
    from soliloquy_services.collector.journal import Journal

# Seconds that unfinished work has when a local run ends.
GRACE_SECONDS = 3.0
# A sandbox takes a core a second to boot, and fewer conversations than this would leave it idle.
CONVERSATIONS_A_SANDBOX = 8


class LocalBackend:
    """An embedded log and worker processes, for as long as the command runs."""

    # Tells this execution of the run from others on the same transport; this one has a transport of its own.
    execution = ""
    # The offset of each partition up to which results were read; nobody can read these again.
    topics: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, plan: Plan, folder: RunFolder, traces: TraceSettings, spending: Spending | None = None) -> None:
        self._workers = Supervisor(_worker_specs(plan, folder.log, folder.spending, traces))
        self._models = plan.models
        self._folder = folder
        self._spending = spending
        self._batches: BatchSenders | None = None

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
            sending = group.create_task(self._batches.run()) if self._batches else None
            curriculum = Stage(admitting.service(), transport)
            collector = Stage(collecting.service(journal), transport)
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


def _worker_specs(plan: Plan, log: Path, spending: Path, traces: TraceSettings) -> Sequence[ProcessSpec]:
    """Each worker serves the five services of the loop, and the planner if problems are prepared."""
    from soliloquy_services.executor.policy import SandboxSettings

    at_once = min(plan.conversations, plan.in_flight)
    sandboxes = min(os.cpu_count() or 1, math.ceil(at_once / CONVERSATIONS_A_SANDBOX))
    assignment = Assignment(
        services=("planner", *LOOP) if plan.enrich or plan.programs else LOOP,
        transport=log,
        model=ModelSettings(
            problems=[plan.problems],
            latency=plan.latency,
            noise=plan.noise,
            models=plan.models,
            record=plan.record,
            spending=spending,
        ),
        sandbox=SandboxSettings(sandboxes=max(1, sandboxes // plan.workers)),
        classifiers=plan.classifiers,
        traces=traces,
        in_batches=at_once if plan.models.has_batches else 0,
        grace=GRACE_SECONDS,
    )
    return [worker_spec(f"worker-{number}", assignment) for number in range(plan.workers)]
