"""Grows a run: submits its problems a little ahead of need, watches it, and stops it when someone interrupts."""

import asyncio
import signal
import time

from services.collector.journal import Journal
from soliloquy.cli.progress import Display, Standing
from soliloquy.problems.sources import ProblemSource
from soliloquy.runs.backends import RunBackend
from soliloquy.runs.plan import Plan
from soliloquy.runtime.events import Event, first_event
from soliloquy.runtime.quota import Quota, left_to_submit
from soliloquy.runtime.standing import under_way
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.events_pb2 import ProblemSubmitted

# Problems submitted beyond those that are settled, so that admission always has the next at hand.
SUBMITTED_AHEAD = 128
# One transaction, or one batch to a broker, for so many.
SUBMITTED_TOGETHER = 16
LOOK_SECONDS = 0.1
LOOK_FOR_STANDSTILL_SECONDS = 1.0


class Driver:
    """One run, from where its files say it stands to its end or to an interrupt."""

    def __init__(self, plan: Plan, source: ProblemSource, journal: Journal, backend: RunBackend) -> None:
        self._plan = plan
        self._run = plan.run(backend.growing)
        self._source = source
        self._journal = journal
        self._backend = backend
        self.dead_letters = 0
        # Conversations that were under way when the run was interrupted and will not be finished.
        self.dropped: int | None = None
        self.interrupted = asyncio.Event()
        self._look = asyncio.Event()

    @property
    def given_up(self) -> int:
        """Problems none of whose attempts was accepted."""
        return self._journal.given_up(self._plan.max_attempts)

    @property
    def settled(self) -> bool:
        """Whether there is nothing left to grow."""
        return self._quota.is_over

    @property
    def _quota(self) -> Quota:
        return Quota(
            conversations=self._plan.conversations,
            accepted=self._journal.accepted,
            given_up=self.given_up,
            unfit=self._journal.unfit,
        )

    async def grow(self, display: Display) -> None:
        """Until the run is settled, or only dead letters are left, or someone interrupts."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.interrupted.set)
        async with self._backend.prepared(self._run, self._journal) as transport, asyncio.TaskGroup() as group:
            submitting = group.create_task(self._submit(transport))
            await self._watch(display)
            submitting.cancel()
            self.dead_letters = await self._backend.dead_letters(self._run)
            if self.interrupted.is_set():
                self.dropped = await self._backend.cancel(self._run)

    async def _submit(self, transport: Transport) -> None:
        """The problems that are not settled, in order and a little ahead of need."""
        settled = self._journal.settled_ordinals(self._plan.max_attempts)
        begun = await under_way(transport, self._run) - settled
        ahead = self._plan.in_flight + SUBMITTED_AHEAD
        together: list[Event] = []

        async def publish() -> None:
            if together:
                await transport.publish(together)
                together.clear()

        for submitted, ordinal in enumerate(left_to_submit(settled, begun), start=len(settled) + len(begun)):
            while not self._quota.admits(ordinal, submitted, ahead):
                await publish()
                await self._look.wait()
                self._look.clear()
            problem = self._source.problem(self._run.seed, ordinal)
            submission = ProblemSubmitted(run=self._run, ordinal=ordinal, problem=problem)
            together.append(first_event(submission, source="soliloquy", time=time.time()))
            if len(together) == SUBMITTED_TOGETHER:
                await publish()

    async def _watch(self, display: Display) -> None:
        looked_at, stood_still_at = time.monotonic(), -1
        while not self.settled and not self.interrupted.is_set():
            self._look.set()
            display.update(self._standing(), self._backend.fault)
            if time.monotonic() - looked_at >= LOOK_FOR_STANDSTILL_SECONDS:
                looked_at = time.monotonic()
                stands_still = await self._backend.stands_still(self._run)
                if stands_still and stood_still_at == self._quota.settled:
                    break
                stood_still_at = self._quota.settled if stands_still else -1
            await asyncio.sleep(LOOK_SECONDS)
        display.update(self._standing(), "")

    def _standing(self) -> Standing:
        journal = self._journal
        return Standing(accepted=journal.accepted, rejected=journal.rejected, executions=journal.executions)
