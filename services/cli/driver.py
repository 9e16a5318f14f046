"""Grows a run on this machine: submits its problems, collects its conversations, keeps its workers alive."""

import asyncio
import signal
import time
from pathlib import Path

from soliloquy.v1.events_pb2 import ConversationCollected, ConversationStarted, ProblemSubmitted

import services.collector.app
import services.curriculum.app
from services.cli.plan import Plan
from services.cli.progress import Display, Standing
from services.cli.workers import GRACE_SECONDS, Workers
from services.collector.journal import Journal
from services.collector.settings import CollectorSettings
from services.curriculum.admission import Admission
from services.curriculum.problems import ProblemSource
from services.curriculum.settings import CurriculumSettings
from services.runtime.events import first_event, message_of
from services.runtime.stage import Stage
from services.runtime.topics import TOPIC_OF
from services.runtime.transports.embedded import EmbeddedTransport
from services.runtime.transports.port import Transport

# Problems submitted beyond those that are settled, so that admission always has the next at hand.
SUBMITTED_AHEAD = 512
LOOK_SECONDS = 0.1
LOOK_FOR_STANDSTILL_SECONDS = 1.0


class Driver:
    """One run, from where its files say it stands to its end or to an interrupt."""

    def __init__(self, plan: Plan, source: ProblemSource, journal: Journal, log: Path) -> None:
        self._plan = plan
        self._source = source
        self._journal = journal
        self._log = log
        self._workers = Workers(plan, log)
        self.dead_letters = 0
        self.interrupted = asyncio.Event()
        self._look = asyncio.Event()

    @property
    def given_up(self) -> int:
        """Problems none of whose attempts was accepted."""
        return self._journal.rejected_at(self._plan.max_attempts - 1)

    @property
    def settled(self) -> int:
        return self._journal.tally.accepted + self.given_up

    async def grow(self, display: Display) -> None:
        """Until every problem is settled, or only dead letters are left, or someone interrupts."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.interrupted.set)
        async with EmbeddedTransport(self._log) as transport, asyncio.TaskGroup() as group:
            admission = await _recalled_admission(transport)
            curriculum = Stage(services.curriculum.app.service(CurriculumSettings(), admission), transport)
            collector = Stage(services.collector.app.service(CollectorSettings(), self._journal), transport)
            for stage in (curriculum, collector):
                group.create_task(stage.run())
            workers = group.create_task(self._workers.run())
            submitting = group.create_task(self._submit(transport))
            await self._watch(transport, display)
            submitting.cancel()
            self.dead_letters = sum((await transport.dead_letters()).values())
            await self._workers.stop()
            await workers
            # A problem that waits for room has not begun: there is nothing to finish.
            curriculum.stop(0.0)
            collector.stop(GRACE_SECONDS)

    async def _submit(self, transport: Transport) -> None:
        """The problems that are not settled, in order and a little ahead of need."""
        run = self._plan.run()
        settled = self._journal.settled_ordinals(self._plan.max_attempts)
        open_ordinals = (ordinal for ordinal in range(self._plan.conversations) if ordinal not in settled)
        for submitted, ordinal in enumerate(open_ordinals):
            while submitted - (self.settled - len(settled)) >= self._plan.in_flight + SUBMITTED_AHEAD:
                await self._look.wait()
                self._look.clear()
            problem = self._source.problem(run.seed, ordinal)
            submission = ProblemSubmitted(run=run, ordinal=ordinal, problem=problem)
            await transport.publish([first_event(submission, source="soliloquy", time=time.time())])

    async def _watch(self, transport: Transport, display: Display) -> None:
        looked_at, stood_still_at = time.monotonic(), -1
        while self.settled < self._plan.conversations and not self.interrupted.is_set():
            self._look.set()
            display.update(self._standing())
            if time.monotonic() - looked_at >= LOOK_FOR_STANDSTILL_SECONDS:
                looked_at = time.monotonic()
                stands_still = await _stands_still(transport)
                if stands_still and stood_still_at == self.settled:
                    break
                stood_still_at = self.settled if stands_still else -1
            await asyncio.sleep(LOOK_SECONDS)
        display.update(self._standing())

    def _standing(self) -> Standing:
        tally = self._journal.tally
        return Standing(accepted=tally.accepted, rejected=tally.rejected, executions=tally.executions.total())


async def _stands_still(transport: Transport) -> bool:
    """Whether all that is under way has become dead letters: nothing is left to be done but to admit problems."""
    if not await transport.dead_letters():
        return False
    admitted = TOPIC_OF[ProblemSubmitted].name
    return not any(backlog.events for backlog in await transport.backlog() if backlog.topic != admitted)


async def _recalled_admission(transport: Transport) -> Admission:
    admission = Admission()
    async for delivery in transport.read("conversation.started"):
        started = message_of(delivery.event)
        assert isinstance(started, ConversationStarted)
        admission.recall_started(started)
    async for delivery in transport.read("conversation.collected"):
        collected = message_of(delivery.event)
        assert isinstance(collected, ConversationCollected)
        admission.recall_collected(collected)
    return admission
