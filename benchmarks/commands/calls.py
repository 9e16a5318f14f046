"""The answered model calls of a run, and which of them a conversation consists of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.model.engines.call_log import call_id
from soliloquy.runtime.seeds import seed


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    id: str
    answered_at: float
    # What the answer took, and the CPU that the engine spent on it.
    seconds: float
    cpu_seconds: float


class UnknownCall(Exception):
    """A conversation holds a call that nobody saw: what was measured is not what was grown."""


def read_calls(path: Path) -> list[Call]:
    """In the order of their answers."""
    rows = (line.split() for line in path.read_text("ascii").splitlines())
    return [
        Call(id=call, answered_at=float(at), seconds=float(seconds), cpu_seconds=float(cpu))
        for call, at, seconds, cpu in rows
    ]


def calls_of(record: dict[str, Any], run_seed: int) -> Iterator[str]:
    """By their ids: each role asks once for an event, and again after an answer that could not be used."""
    asked_before = 0
    for number, turn in enumerate(record["turns"], start=1):
        for place, call in enumerate(turn["calls"]):
            # The student begins the turn: what it is asked for is told by the turn before.
            origin = (number, place) if place else (number - 1, asked_before)
            for tries in range(len(call["raw"])):
                drawn = seed(run_seed, record["id"], *origin, call["prompt"], 1, tries)
                yield call_id(call["role"], call["prompt"], drawn)
        asked_before = len(turn["calls"])


def chains(records: Iterable[dict[str, Any]], calls: Sequence[Call], run_seed: int) -> list[float]:
    """For each problem in order, the seconds that its conversations had to wait for answers, rejected ones included."""
    seconds = {call.id: call.seconds for call in calls}
    found: dict[int, float] = {}
    for record in records:
        try:
            waited = sum(seconds[call] for call in calls_of(record, run_seed))
        except KeyError as missing:
            raise UnknownCall(f"conversation {record['id']} holds a call {missing} that was not logged") from missing
        found[record["ordinal"]] = found.get(record["ordinal"], 0.0) + waited
    return [found[ordinal] for ordinal in sorted(found)]
