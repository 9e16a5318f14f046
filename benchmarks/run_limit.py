"""The least time that a run can take: what its model's answers alone would need."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.call_log import call_id
from soliloquy.runtime.seeds import seed


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedCall:
    id: str
    answered_at: float
    seconds: float
    # CPU time that the engine spent on the answer.
    cpu_seconds: float


class UnknownCall(Exception):
    """A conversation holds a model call that was not observed, so the figures would be wrong."""


def read_calls(path: Path) -> list[ObservedCall]:
    """Returns the calls in the order of their answers."""
    rows = (line.split() for line in path.read_text("ascii").splitlines())
    return [
        ObservedCall(id=call, answered_at=float(at), seconds=float(seconds), cpu_seconds=float(cpu))
        for call, at, seconds, cpu in rows
    ]


def call_ids(record: dict[str, Any], run_seed: int) -> Iterator[str]:
    """Yields the ids of a conversation's calls, including those whose answer could not be used."""
    earlier_calls = 0
    for number, turn in enumerate(record["turns"], start=1):
        for place, call in enumerate(turn["calls"]):
            # The turn before causes the student's call, which is the first of a turn.
            origin = (number, place) if place else (number - 1, earlier_calls)
            for attempt in range(len(call["raw"])):
                drawn = seed(run_seed, record["id"], *origin, call["prompt"], 1, attempt)
                yield call_id(call["role"], call["prompt"], drawn)
        earlier_calls = len(turn["calls"])


def waiting_times(records: Iterable[dict[str, Any]], calls: Sequence[ObservedCall], run_seed: int) -> list[float]:
    """Returns, for each problem in order, the seconds that its conversations waited for answers."""
    seconds = {call.id: call.seconds for call in calls}
    found: dict[int, float] = {}
    for record in records:
        try:
            waited = sum(seconds[call] for call in call_ids(record, run_seed))
        except KeyError as missing:
            raise UnknownCall(f"conversation {record['id']} holds a call {missing} that was not observed") from missing
        found[record["ordinal"]] = found.get(record["ordinal"], 0.0) + waited
    return [found[ordinal] for ordinal in sorted(found)]


def makespan(times: Sequence[float], places: int) -> float:
    """Schedules the conversations in order, each as soon as one of the places is free, and returns the total time."""
    free_at = [0.0] * min(places, len(times))
    for seconds in times:
        heapq.heapreplace(free_at, free_at[0] + seconds)
    return max(free_at)
