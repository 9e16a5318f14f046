"""Drives a run: submits its problems a little ahead of need, and notices when nothing more will come of it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from soliloquy.runtime.events import Event, first_event
from soliloquy.runtime.stretches import Stretches
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.events_pb2 import ProblemSubmitted
from soliloquy.v1.runs_pb2 import Run

# One transaction, or one batch to a broker, holds at most this many problems.
BATCH = 32
# A run that makes no progress is looked at this often.
LOOK_SECONDS = 1.0
# MathDial could use one problem in five.
_UNFIT_A_CONVERSATION = 8


def most_problems(conversations: int, unfit: int) -> int:
    """Limits the replacements for problems that are given up to twice the wanted conversations.

    Problems that the recipe cannot use do not count, up to a much larger limit.
    """
    return 2 * conversations + min(unfit, _UNFIT_A_CONVERSATION * conversations)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """The progress of a run towards its wanted conversations."""

    conversations: int
    accepted: int
    # Problems that were given up, and how many of those the recipe cannot use.
    given_up: int
    unfit: int

    @property
    def settled(self) -> int:
        """Counts the problems that need no more work."""
        return self.accepted + self.given_up

    @property
    def is_over(self) -> bool:
        """Whether the run has all its conversations or has tried as many problems as it may."""
        return self.accepted >= self.conversations or self.settled >= self._most

    @property
    def wanted(self) -> int:
        """How many problems to submit: only as many as needed, so that timing does not decide which are accepted."""
        return min(self.conversations + self.given_up, self._most)

    @property
    def _most(self) -> int:
        return most_problems(self.conversations, self.unfit)

    def admits(self, ordinal: int, submitted: int, ahead: int) -> bool:
        """Whether to submit a problem when `submitted` were and at most `ahead` may be unsettled."""
        return ordinal < self.wanted and submitted - self.settled < ahead


class Ending(Enum):
    # Every conversation is accepted, or enough problems were tried.
    SETTLED = auto()
    # Only dead letters are left.
    STUCK = auto()
    STOPPED = auto()


class DrivenRun(Protocol):
    """How far a run is, as its journal or its topics tell."""

    @property
    def quota(self) -> Quota: ...

    @property
    def is_stopped(self) -> bool:
        """Whether the run is to be driven no further."""

    async def settled_ordinals(self) -> Stretches:
        """The problems that need no further conversation."""

    async def ordinals_under_way(self) -> set[int]:
        """The problems that have a conversation under way."""

    def admits(self, ordinal: int, submitted: int) -> bool:
        """Whether to submit a problem after so many others."""

    async def changes(self, seconds: float) -> bool:
        """Waits until the run makes progress; returns False if it makes none within so many seconds."""

    async def is_stuck(self, submitted: int) -> bool:
        """Whether everything that is under way ended among the dead letters."""


async def drive(
    run: Run, draw: Callable[[int], Problem], transport: Transport, driven: DrivenRun, *, source: str
) -> Ending:
    """Submits the problems that are neither settled nor under way, in order, until the run ends."""
    settled = await driven.settled_ordinals()
    begun = {ordinal for ordinal in await driven.ordinals_under_way() if ordinal not in settled}
    left = (ordinal for ordinal in settled.missing() if ordinal not in begun)
    submitted, ordinal = len(settled) + len(begun), next(left)
    stuck_at = -1
    while not driven.is_stopped:
        if driven.quota.is_over:
            return Ending.SETTLED
        batch: list[int] = []
        while len(batch) < BATCH and driven.admits(ordinal, submitted):
            batch.append(ordinal)
            submitted, ordinal = submitted + 1, next(left)
        if batch:
            # Drawing a problem may take milliseconds.
            await transport.publish(await asyncio.to_thread(_events, run, draw, batch, source))
        elif await driven.changes(LOOK_SECONDS) or not await driven.is_stuck(submitted):
            stuck_at = -1
        elif stuck_at == driven.quota.settled:
            return Ending.STUCK
        else:
            # An event on its way between two services is in nobody's count: the next look confirms.
            stuck_at = driven.quota.settled
    return Ending.STOPPED


def shortfall(quota: Quota, recipe: str, max_attempts: int, unfit: str = "") -> str:
    """Why a settled run has fewer conversations than wanted; `unfit` lists the kinds of unfit problems."""
    kinds = f" ({unfit})" if unfit else ""
    why = [f"{quota.unfit} are of no use to {recipe}{kinds}"] if quota.unfit else []
    tried = most_problems(quota.conversations, quota.unfit)
    if rejected := tried - quota.accepted - quota.unfit:
        why.append(f"{rejected} had every attempt rejected ({max_attempts} each)")
    return f"{quota.accepted} of {quota.conversations} after {tried} problems: {' and '.join(why)}"


def _events(run: Run, draw: Callable[[int], Problem], ordinals: list[int], source: str) -> list[Event]:
    submissions = [ProblemSubmitted(run=run, ordinal=ordinal, problem=draw(ordinal)) for ordinal in ordinals]
    return [first_event(submission, source=source, time=time.time()) for submission in submissions]
