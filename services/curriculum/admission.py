"""Admission of conversations: limits how many of a run are under way."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from soliloquy.runtime.events import run_key
from soliloquy.runtime.handling import NotYet
from soliloquy.runtime.stretches import Stretches
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import RunStanding
from soliloquy.v1.runs_pb2 import Run


@dataclass
class _Run:
    in_flight: int = 0
    # The ordinals of the problems with a conversation under way.
    under_way: set[int] = field(default_factory=set)
    # The ordinals of all problems that ever had one: after a restart a problem may be submitted again.
    begun: Stretches = field(default_factory=Stretches)
    # Resolved when there is room again; None if nothing waits.
    room: asyncio.Future[None] | None = None


class Admission:
    """Keeps started - finished <= in_flight for each run. Further attempts at a problem keep its place."""

    def __init__(self) -> None:
        self._runs: defaultdict[str, _Run] = defaultdict(_Run)

    @property
    def under_way(self) -> int:
        """Summed over all runs."""
        return sum(len(run.under_way) for run in self._runs.values())

    @property
    def limit(self) -> int:
        """Summed over the runs that have conversations under way."""
        return sum(run.in_flight for run in self._runs.values() if run.under_way)

    def recall(self, standing: RunStanding) -> None:
        """Restores a run from the log."""
        run = self._runs[run_key(standing.run)]
        run.begun = Stretches(standing.begun)
        for ordinal in standing.under_way:
            run.begun.add(ordinal)
        self._change(standing.run, set(standing.under_way))

    def standing(self, run: Run) -> RunStanding:
        known = self._runs.get(run_key(run), _Run())
        return RunStanding(run=run, under_way=sorted(known.under_way), begun=known.begun)

    def enter(self, conversation: Conversation) -> bool:
        """Returns False if the problem was started before; raises NotYet while there is no room."""
        run = self._runs[run_key(conversation.run)]
        if conversation.ordinal in run.begun:
            return False
        if len(run.under_way) >= conversation.run.in_flight:
            run.room = run.room or asyncio.get_running_loop().create_future()
            raise NotYet(run.room)
        run.under_way.add(conversation.ordinal)
        run.begun.add(conversation.ordinal)
        run.in_flight = conversation.run.in_flight
        return True

    def leave(self, conversation: Conversation) -> bool:
        """Returns False if the problem had left before."""
        known = self._runs.get(run_key(conversation.run))
        if known is None or conversation.ordinal not in known.under_way:
            return False
        self._change(conversation.run, known.under_way - {conversation.ordinal})
        return True

    def clear(self, run: Run) -> None:
        """Drops all conversations of a cancelled run, whose problems may be started again."""
        self._change(run, set())
        del self._runs[run_key(run)]

    def _change(self, run: Run, under_way: set[int]) -> None:
        known = self._runs[run_key(run)]
        known.under_way, known.in_flight = under_way, run.in_flight
        if known.room and not known.room.done():
            known.room.set_result(None)
        known.room = None
