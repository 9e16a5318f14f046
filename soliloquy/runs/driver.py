"""Drives one run of a command, from where its journal stands to its end or to an interrupt."""

import asyncio
import signal
from functools import partial
from typing import TYPE_CHECKING

from soliloquy.problems.sources import ProblemSource
from soliloquy.runs.backends import KafkaBackend, LocalBackend
from soliloquy.runs.plan import Plan
from soliloquy.runs.progress import RunCounts, Show, WaitingCalls, hopeless
from soliloquy.runtime import driver
from soliloquy.runtime.driver import Quota
from soliloquy.runtime.model.costs import total_cost
from soliloquy.runtime.model.spending import Spending
from soliloquy.runtime.reading import open_ordinals
from soliloquy.runtime.stretches import Stretches

if TYPE_CHECKING:
    from soliloquy_services.collector.journal import Journal

# The number of problems submitted beyond those that are settled and in flight, so that admission never waits for one.
SUBMITTED_AHEAD = 128
LOOK_SECONDS = 0.1
# Workers report their requests in flight twice a second, and later where the machine is busy.
IDLE_SECONDS = 5.0


class Driver:
    def __init__(
        self,
        plan: Plan,
        source: ProblemSource,
        journal: "Journal",
        backend: LocalBackend | KafkaBackend,
        spending: Spending | None = None,
    ) -> None:
        """`spending` counts what the run is billed; without it, its finished conversations tell what they took."""
        self._plan = plan
        self._run = plan.run(backend.execution)
        self._source = source
        self._journal = journal
        self._backend = backend
        self.dead_letters = 0
        # The number of conversations under way that an interrupted run does not finish.
        self.dropped: int | None = None
        self.interrupted = asyncio.Event()
        # Why the run was stopped without a signal.
        self.fault = ""
        self.is_out_of_budget = False
        self._spending = spending
        # Whether the budget has no room for another conversation, and none is under way.
        self._is_closed = False

    @property
    def given_up(self) -> int:
        """Returns the number of problems none of whose attempts was accepted."""
        return self._journal.given_up(self._plan.max_attempts)

    @property
    def settled(self) -> bool:
        return self.quota.is_over

    async def run(self, show: Show) -> None:
        """Returns when the run is settled, only dead letters are left, a signal interrupts it, or it cannot go on."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.interrupted.set)
        async with self._backend.prepared(self._run, self._journal) as self._transport, asyncio.TaskGroup() as group:
            draw = partial(self._source.problem, self._run.seed)
            driving = group.create_task(driver.drive(self._run, draw, self._transport, self, source="soliloquy"))
            while not (driving.done() or self.is_stopped or self.settled):
                show(self._counts(), self._backend.fault)
                self.fault = self._spent_up() or hopeless(self._backend.endpoints, wait=self._plan.wait)
                await asyncio.wait([driving], timeout=LOOK_SECONDS)
            show(self._counts(), "")
            # A transport that does not answer may hold it.
            driving.cancel()
            if self.is_out_of_budget:
                await self._answers()
                await self._batches(show)
            self.dead_letters = await self._backend.dead_letters(self._run)
            if self.is_stopped:
                self.dropped = await self._backend.cancel(self._run)
            elif self.settled:
                await self._backend.settle()

    # The members of DrivenRun.

    @property
    def quota(self) -> Quota:
        return Quota(
            conversations=self._plan.conversations,
            accepted=self._journal.accepted,
            given_up=self.given_up,
            unfit=self._journal.unfit,
        )

    @property
    def is_stopped(self) -> bool:
        return self.interrupted.is_set() or bool(self.fault)

    async def settled_ordinals(self) -> Stretches:
        return Stretches.of(self._journal.settled_ordinals(self._plan.max_attempts))

    async def ordinals_under_way(self) -> set[int]:
        return await open_ordinals(self._transport, self._run)

    def admits(self, ordinal: int, submitted: int) -> bool:
        budget, in_flight = self._plan.budget, self._plan.in_flight
        if not budget.is_set:
            return self.quota.admits(ordinal, submitted, in_flight + SUBMITTED_AHEAD)
        if not self.quota.admits(ordinal, submitted, in_flight):
            return False
        unsettled = submitted - self.quota.settled
        has_room = self._has_room(unsettled + 1)
        self._is_closed = not has_room and not unsettled
        return has_room

    def _has_room(self, under_way: int) -> bool:
        """Whether so many conversations can be finished, if each takes what one took so far; half is still to come."""
        done = self._journal.accepted + self._journal.rejected
        dollars, tokens = self._spent()
        share = 1 + (under_way + 1) / 2 / done if done else 1
        return not self._plan.budget.is_used(dollars * share, tokens * share)

    def _spent(self) -> tuple[float, float]:
        """Returns dollars and tokens."""
        if self._spending:
            spent = self._spending.spent
            return spent.dollars + spent.lost_dollars, spent.tokens + spent.lost_tokens
        used = self._journal.tokens
        tokens = sum(counts.get(kind, 0) for counts in used.values() for kind in ("prompt", "completion"))
        return total_cost(self._plan.cost(used).values()) or 0.0, tokens

    def _spent_up(self) -> str:
        """Returns why the budget ends the run; empty while it does not."""
        budget = self._plan.budget
        if not budget.is_set:
            return ""
        dollars, tokens = self._spent()
        is_used = budget.is_used(dollars, tokens)
        self.is_out_of_budget = is_used or self._is_closed
        spent = f"{dollars:.4g} USD" if budget.dollars is not None else f"{tokens:,.0f} tokens"
        end = "is used up" if is_used else "has no room for another conversation"
        return f"the budget of {budget} {end} ({spent} spent)" if self.is_out_of_budget else ""

    async def _answers(self) -> None:
        """Waits for the answers that are paid for anyway; those to a worker that was killed never come."""
        seconds = max(endpoint.timeout for endpoint in self._plan.models.used.values())
        idle = 0.0
        for _ in range(round(seconds / LOOK_SECONDS)):
            if not self._spending or not self._spending.spent.sent or idle >= IDLE_SECONDS:
                break
            await asyncio.sleep(LOOK_SECONDS)
            idle = 0.0 if any(one.in_flight for one in self._backend.endpoints) else idle + LOOK_SECONDS

    async def _batches(self, show: Show) -> None:
        """Waits for the batches that are paid for anyway, for as long as their endpoints work on them."""
        while working := [one for one in self._backend.endpoints if one.batches]:
            if self.interrupted.is_set() or hopeless(working, wait=self._plan.wait):
                break
            self.fault = self._spent_up()
            show(self._counts(), f"{self.fault}; the run ends when its batches have")
            await asyncio.sleep(LOOK_SECONDS)
        self.fault = self._spent_up()

    async def changes(self, seconds: float) -> bool:
        settled = self.quota.settled
        for _ in range(round(seconds / LOOK_SECONDS)):
            await asyncio.sleep(LOOK_SECONDS)
            if self.quota.settled != settled or self.is_stopped:
                return True
        return False

    async def is_stuck(self, _: int) -> bool:
        return await self._backend.is_stuck(self._run)

    def _counts(self) -> RunCounts:
        journal = self._journal
        [(reason, _)] = journal.reasons.most_common(1) or [("", 0)]
        return RunCounts(
            accepted=journal.accepted,
            rejected=journal.rejected,
            reason=reason,
            cost=total_cost(self._plan.cost(journal.tokens).values()),
            calls=WaitingCalls.at(self._backend.endpoints),
        )
