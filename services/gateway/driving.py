"""Drives one run: submits its problems a little ahead of need, and knows when there is nothing left to grow."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from services.gateway.index import Index
from services.gateway.planning import BadRequest, Planning, Problems
from services.gateway.runs import KnownRun
from soliloquy.runtime.events import Event, EventTooLarge, first_event
from soliloquy.runtime.quota import left_to_submit, most_problems
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.events_pb2 import ProblemSubmitted
from soliloquy.v1.runs_pb2 import RunState

# Few problems wait for room in their run: what a pause does not stop is what was submitted.
LEAST_AHEAD = 8
IN_FLIGHT_A_PROBLEM_AHEAD = 4
# Problems are drawn by a thread, so many at once.
BATCH = 32
# Between two looks at a run of which nothing is heard.
LOOK_SECONDS = 1.0

_log = logging.getLogger(__name__)

# Writes down that the run is in another state, and why.
Turn = Callable[[RunState, str], Awaitable[None]]


class Driver:
    def __init__(self, known: KnownRun, index: Index, planning: Planning, transport: Transport, turn: Turn) -> None:
        self._known = known
        self._index = index
        self._planning = planning
        self._transport = transport
        self._turn = turn
        self._heard = asyncio.Event()
        self._stood_still_at = -1

    def hear(self) -> None:
        """Something of the run is not as it was."""
        self._heard.set()

    async def drive(self) -> None:
        """Until the run is over."""
        try:
            await self._submit(await asyncio.to_thread(self._planning.problems, self._known.changed.request))
        except (BadRequest, EventTooLarge) as error:
            await self._turn(RunState.RUN_STATE_PAUSED, str(error))

    async def _submit(self, problems: Problems) -> None:
        settled = self._index.settled(self._known.id)
        begun = self._known.under_way - settled
        left = left_to_submit(settled, begun)
        submitted, ordinal = len(settled) + len(begun), next(left)
        while not await self._is_over(submitted):
            batch: list[int] = []
            while len(batch) < BATCH and self._admits(ordinal, submitted):
                batch.append(ordinal)
                submitted, ordinal = submitted + 1, next(left)
            if batch:
                await self._transport.publish(await asyncio.to_thread(self._events, problems, batch))
            else:
                await self._hear()

    def _admits(self, ordinal: int, submitted: int) -> bool:
        changed = self._known.changed
        in_flight = changed.run.in_flight
        ahead = in_flight + max(LEAST_AHEAD, in_flight // IN_FLIGHT_A_PROBLEM_AHEAD)
        return changed.state == RunState.RUN_STATE_RUNNING and self._known.quota.admits(ordinal, submitted, ahead)

    def _events(self, problems: Problems, ordinals: list[int]) -> list[Event]:
        run = self._known.changed.run
        submissions = [
            ProblemSubmitted(run=run, ordinal=ordinal, problem=_drawn(problems, run.seed, ordinal))
            for ordinal in ordinals
        ]
        return [first_event(submission, source="gateway", time=time.time()) for submission in submissions]

    async def _hear(self) -> None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._heard.wait()
            self._stood_still_at = -1
        except TimeoutError:
            # Only now is it known that nothing has come for a while.
            self._stood_still_at = self._known.quota.settled
        self._heard.clear()

    async def _is_over(self, submitted: int) -> bool:
        known = self._known
        if known.is_over:
            return True
        if known.quota.is_over:
            has_all = known.quota.accepted >= known.quota.conversations
            state = RunState.RUN_STATE_FINISHED if has_all else RunState.RUN_STATE_SHORT
            await self._turn(state, "" if has_all else _shortfall(known))
            return True
        if self._stood_still_at == known.quota.settled and self._only_dead_are_left(submitted):
            missing = known.quota.conversations - known.quota.accepted
            because = f"{missing} conversations ended among the dead letters: replay them, and the run goes on"
            await self._turn(RunState.RUN_STATE_SHORT, because)
            return True
        return False

    def _only_dead_are_left(self, submitted: int) -> bool:
        """Whether nothing of the run is under way, and nothing that was submitted can get there."""
        known = self._known
        if not known.dead or not known.under_way <= known.dead:
            return False
        dead = known.dead - self._index.settled(known.id)
        return submitted - known.quota.settled <= len(dead) or len(known.under_way) >= known.changed.run.in_flight


def _drawn(problems: Problems, seed: int, ordinal: int) -> Problem:
    """What is wrong with one run's problems is no other's concern."""
    try:
        return problems.problem(seed, ordinal)
    except Exception as error:
        _log.error("problem %d cannot be drawn", ordinal, exc_info=error)
        raise BadRequest(f"problem {ordinal} cannot be drawn ({error}): mend it and resume the run") from error


def _shortfall(known: KnownRun) -> str:
    quota, run = known.quota, known.changed.run
    why = [f"{quota.unfit} are no use to {run.recipe}"] if quota.unfit else []
    if quota.given_up > quota.unfit:
        why.append(f"all {run.max_attempts} conversations of each of the others were rejected")
    tried = most_problems(quota.conversations, quota.unfit)
    return f"{quota.accepted} of {quota.conversations} after {tried} problems: {' and '.join(why)}"
