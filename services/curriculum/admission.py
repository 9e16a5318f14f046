"""Admission of conversations: limits how many of a run are under way."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from soliloquy.runtime.events import run_key
from soliloquy.runtime.handling import NotYet
from soliloquy.runtime.places import Places
from soliloquy.runtime.stretches import Stretches
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import RunStanding
from soliloquy.v1.runs_pb2 import Run


@dataclass
class _Run:
    in_flight: int = 0
    # The place of each problem, by ordinal, that has a conversation under way.
    places: dict[int, int] = field(default_factory=dict)
    # The places that are free again, of those up to the last that was ever taken.
    free: list[int] = field(default_factory=list)
    last: int = 0
    # The ordinals of all problems that ever had one: after a restart a problem may be submitted again.
    begun: Stretches = field(default_factory=Stretches)
    # Resolved when there is room again; None if nothing waits.
    room: asyncio.Future[None] | None = None

    def make_room(self) -> None:
        if self.room and not self.room.done():
            self.room.set_result(None)
        self.room = None


class Admission:
    """Keeps started - finished <= in_flight for each run. Further attempts at a problem keep its place."""

    def __init__(self) -> None:
        self._runs: defaultdict[str, _Run] = defaultdict(_Run)

    @property
    def under_way(self) -> int:
        """Summed over all runs."""
        return sum(len(run.places) for run in self._runs.values())

    @property
    def limit(self) -> int:
        """Summed over the runs that have conversations under way."""
        return sum(run.in_flight for run in self._runs.values() if run.places)

    def recall(self, standings: Sequence[RunStanding]) -> None:
        """Restores the runs of these partitions from the log, which holds every place that was ever taken."""
        told: defaultdict[str, Places] = defaultdict(Places)
        for standing in standings:
            told[run_key(standing.run)].tell(standing)
        numbers = defaultdict[str, set[int]](set)
        for standing in standings:
            numbers[run_key(standing.run)].add(standing.place)
            self._runs[run_key(standing.run)].in_flight = standing.run.in_flight
        for name, found in told.items():
            run = self._runs[name]
            run.places = {ordinal: place for place, ordinal in found.ordinals.items()}
            run.begun = found.begun
            run.free = sorted(numbers[name] - found.ordinals.keys() - {0}, reverse=True)
            run.last = max(numbers[name] | found.ordinals.keys())
            run.make_room()

    def enter(self, conversation: Conversation) -> RunStanding | None:
        """Returns None if the problem was started before; raises NotYet while there is no room."""
        run = self._runs[run_key(conversation.run)]
        if conversation.ordinal in run.begun:
            return None
        if len(run.places) >= conversation.run.in_flight:
            run.room = run.room or asyncio.get_running_loop().create_future()
            raise NotYet(run.room)
        if not run.free:
            run.last += 1
            run.free.append(run.last)
        place = run.places[conversation.ordinal] = run.free.pop()
        run.begun.add(conversation.ordinal)
        run.in_flight = conversation.run.in_flight
        return _standing(conversation.run, place, run.begun, conversation.ordinal)

    def leave(self, conversation: Conversation) -> RunStanding | None:
        """Returns None if the problem had left before."""
        run = self._runs.get(run_key(conversation.run))
        if run is None or (place := run.places.pop(conversation.ordinal, None)) is None:
            return None
        run.free.append(place)
        if not run.places:
            run.free, run.last = [], 0
        run.make_room()
        return _standing(conversation.run, place, run.begun)

    def clear(self, run: Run) -> RunStanding:
        """Drops all conversations of a cancelled run, whose problems may be started again."""
        self._runs.pop(run_key(run), _Run()).make_room()
        return _standing(run, 0, Stretches())


def _standing(run: Run, place: int, begun: Stretches, *under_way: int) -> RunStanding:
    names = Run(id=run.id, growing=run.growing, in_flight=run.in_flight)
    return RunStanding(run=names, place=place, under_way=under_way, begun=begun)
