"""Drives one run of the gateway, as far as its topics and its index tell how far it is."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from services.gateway.index import Index
from services.gateway.planning import BadRequest, Planning, Problems
from services.gateway.runs import KnownRun
from soliloquy.runtime.driver import Ending, Quota, drive, shortfall
from soliloquy.runtime.events import EventTooLarge
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.runs_pb2 import RunState

# Few problems wait for admission: a pause cannot stop those that are submitted.
LEAST_AHEAD = 8
IN_FLIGHT_A_PROBLEM_AHEAD = 4

_log = logging.getLogger(__name__)

# Records that the run changes to a state, and why.
Turn = Callable[[RunState, str], Awaitable[None]]


class Driver:
    def __init__(self, known: KnownRun, index: Index, planning: Planning, transport: Transport, turn: Turn) -> None:
        self._known = known
        self._index = index
        self._planning = planning
        self._transport = transport
        self._turn = turn
        self._changed = asyncio.Event()

    def hear(self) -> None:
        """Tells that something about the run changed."""
        self._changed.set()

    async def drive(self) -> None:
        """Returns when the run is over, or paused because of its problems."""
        changed, run = self._known.changed, self._known.changed.run
        try:
            problems = await asyncio.to_thread(self._planning.problems, changed.request)
            ending = await drive(
                run, lambda ordinal: _drawn(problems, run.seed, ordinal), self._transport, self, source="gateway"
            )
        except (BadRequest, EventTooLarge) as error:
            await self._turn(RunState.RUN_STATE_PAUSED, str(error))
            return
        missing = self.quota.conversations - self.quota.accepted
        if ending is Ending.STUCK:
            because = f"{missing} conversations ended among the dead letters: replay them, and the run goes on"
            await self._turn(RunState.RUN_STATE_SHORT, because)
        elif ending is Ending.SETTLED and missing > 0:
            await self._turn(RunState.RUN_STATE_SHORT, shortfall(self.quota, run.recipe, run.max_attempts))
        elif ending is Ending.SETTLED:
            await self._turn(RunState.RUN_STATE_FINISHED, "")

    @property
    def quota(self) -> Quota:
        return self._known.quota

    @property
    def is_stopped(self) -> bool:
        return self._known.is_over

    def settled_ordinals(self) -> set[int]:
        return self._index.settled(self._known.id)

    async def ordinals_under_way(self) -> set[int]:
        return set(self._known.under_way)

    def admits(self, ordinal: int, submitted: int) -> bool:
        changed = self._known.changed
        in_flight = changed.run.in_flight
        ahead = in_flight + max(LEAST_AHEAD, in_flight // IN_FLIGHT_A_PROBLEM_AHEAD)
        return changed.state == RunState.RUN_STATE_RUNNING and self.quota.admits(ordinal, submitted, ahead)

    async def changes(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._changed.clear()
        return True

    async def is_stuck(self, submitted: int) -> bool:
        known = self._known
        if not known.dead or not known.under_way <= known.dead:
            return False
        # Either every problem submitted is dead or settled, or the dead ones take all places and none can begin.
        dead = known.dead - self.settled_ordinals()
        return submitted - known.quota.settled <= len(dead) or len(known.under_way) >= known.changed.run.in_flight


def _drawn(problems: Problems, seed: int, ordinal: int) -> Problem:
    """Bad problems of one run pause that run alone."""
    try:
        return problems.problem(seed, ordinal)
    except Exception as error:
        _log.error("problem %d cannot be drawn", ordinal, exc_info=error)
        raise BadRequest(f"problem {ordinal} cannot be drawn ({error}): correct it and resume the run") from error
