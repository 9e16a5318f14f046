"""Grows a run: submits its problems a little ahead of need, watches it, and stops it when someone interrupts."""

import asyncio
import signal
import time
from itertools import count

from soliloquy.v1.events_pb2 import ProblemSubmitted

from services.cli.grounds import Ground
from services.cli.plan import Plan
from services.cli.progress import Display, Standing
from services.collector.journal import Journal
from services.curriculum.problems import ProblemSource
from services.curriculum.standing import under_way
from services.runtime.events import first_event
from services.runtime.transports.port import Transport

# Problems submitted beyond those that are settled, so that admission always has the next at hand.
SUBMITTED_AHEAD = 128
LOOK_SECONDS = 0.1
LOOK_FOR_STANDSTILL_SECONDS = 1.0


class Driver:
    """One run, from where its files say it stands to its end or to an interrupt."""

    def __init__(self, plan: Plan, source: ProblemSource, journal: Journal, ground: Ground) -> None:
        self._plan = plan
        self._run = plan.run(ground.growing)
        self._source = source
        self._journal = journal
        self._ground = ground
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
        """Whether there is nothing left to grow: all are accepted, or enough problems were tried."""
        return self._journal.tally.accepted >= self._plan.conversations or self._settled >= self._most

    @property
    def _settled(self) -> int:
        return self._journal.tally.accepted + self.given_up

    @property
    def _most(self) -> int:
        return self._plan.most_problems(self._journal.unfit)

    @property
    def _wanted(self) -> int:
        """Problems to submit: no more than must be, so that the same ones are accepted whatever comes when."""
        return min(self._plan.conversations + self.given_up, self._most)

    async def grow(self, display: Display) -> None:
        """Until the run is settled, or only dead letters are left, or someone interrupts."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.interrupted.set)
        async with self._ground.prepared(self._run, self._journal) as transport, asyncio.TaskGroup() as group:
            submitting = group.create_task(self._submit(transport))
            await self._watch(display)
            submitting.cancel()
            self.dead_letters = await self._ground.dead_letters(self._run)
            if self.interrupted.is_set():
                self.dropped = await self._ground.cancel(self._run)

    async def _submit(self, transport: Transport) -> None:
        """The problems that are not settled, in order and a little ahead of need."""
        settled = self._journal.settled_ordinals(self._plan.max_attempts)
        # Submitted again, one under way would wait behind those that are waiting, and be grown once more.
        begun = await under_way(transport, self._run) - settled
        left = (number for number in count() if number not in settled and number not in begun)
        for submitted, ordinal in enumerate(left, start=len(begun)):
            ahead = self._plan.in_flight + SUBMITTED_AHEAD
            while ordinal >= self._wanted or submitted - (self._settled - len(settled)) >= ahead:
                await self._look.wait()
                self._look.clear()
            problem = self._source.problem(self._run.seed, ordinal)
            submission = ProblemSubmitted(run=self._run, ordinal=ordinal, problem=problem)
            await transport.publish([first_event(submission, source="soliloquy", time=time.time())])

    async def _watch(self, display: Display) -> None:
        looked_at, stood_still_at = time.monotonic(), -1
        while not self.settled and not self.interrupted.is_set():
            self._look.set()
            display.update(self._standing(), self._ground.fault)
            if time.monotonic() - looked_at >= LOOK_FOR_STANDSTILL_SECONDS:
                looked_at = time.monotonic()
                stands_still = await self._ground.stands_still(self._run)
                if stands_still and stood_still_at == self._settled:
                    break
                stood_still_at = self._settled if stands_still else -1
            await asyncio.sleep(LOOK_SECONDS)
        display.update(self._standing(), "")

    def _standing(self) -> Standing:
        tally = self._journal.tally
        return Standing(accepted=tally.accepted, rejected=tally.rejected, executions=tally.executions.total())
