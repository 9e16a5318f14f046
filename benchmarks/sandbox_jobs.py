"""Mixes of jobs with known results, so that a benchmark can check what it measures."""

import itertools
import math
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.runtime.values import plain
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Job, Status

_REL_TOL = 1e-9
_JOBS = Path(__file__).with_name("sandbox_jobs.toml")
_MIXES = Path(__file__).with_name("sandbox_mixes.toml")


class WrongResult(Exception):
    """A job did not give the result that it must, so the figures would be wrong."""


@dataclass(frozen=True, kw_only=True)
class Snippet:
    name: str
    job: Job
    expected: dict[str, Any]

    def check(self, done: Execution) -> None:
        if done.status != STATUS_OK:
            raise WrongResult(f"{self.name!r} ended with {Status.Name(done.status)}: {done.error}")
        self.check_values({named.name: plain(named.value) for named in done.values})

    def check_values(self, values: dict[str, Any]) -> None:
        if not _same(values, self.expected):
            raise WrongResult(f"{self.name!r} gave {values}, which should be {self.expected}")


@dataclass(frozen=True, kw_only=True)
class Mix:
    name: str
    # How many snippets of each group a block holds.
    block: dict[str, int]
    groups: dict[str, tuple[Snippet, ...]]
    callers_a_core: int
    # How long to measure, compared with other mixes.
    time: float
    beside_subprocess: bool

    @property
    def snippets(self) -> list[Snippet]:
        return [snippet for group in self.block for snippet in self.groups[group]]

    def in_order(self, seed: int) -> Iterator[Snippet]:
        """Yields snippets without end, in shuffled blocks of exact shares; each group repeats in order."""
        draws = random.Random(seed)
        rounds = {group: itertools.cycle(self.groups[group]) for group in self.block}
        while True:
            block = [next(rounds[group]) for group, count in self.block.items() for _ in range(count)]
            draws.shuffle(block)
            yield from block


def mixes() -> dict[str, Mix]:
    return {name: _mix(name=name, **fields) for name, fields in _read(_MIXES).items()}


def endless() -> dict[str, str]:
    """Returns, by lane, code that runs until its wall limit."""
    return dict(_read(_JOBS)["endless"])


def _mix(
    *,
    name: str,
    block: dict[str, int],
    callers_a_core: int,
    single_use: bool = False,
    time: float = 1.0,
    beside_subprocess: bool = False,
) -> Mix:
    jobs = _read(_JOBS)
    return Mix(
        name=name,
        block=block,
        groups={group: tuple(_snippet(single_use=single_use, **fields) for fields in jobs[group]) for group in block},
        callers_a_core=callers_a_core,
        time=time,
        beside_subprocess=beside_subprocess,
    )


def _snippet(*, name: str, code: str, expected: dict[str, Any], single_use: bool) -> Snippet:
    job = Job(id=name, code=code, result_variables=list(expected), single_use=single_use)
    return Snippet(name=name, job=job, expected=expected)


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))


def _same(value: Any, expected: Any) -> bool:
    if type(value) is not type(expected):
        return False
    if isinstance(value, float):
        return math.isclose(value, expected, rel_tol=_REL_TOL)
    if isinstance(value, list):
        return len(value) == len(expected) and all(map(_same, value, expected))
    if isinstance(value, dict):
        return value.keys() == expected.keys() and all(_same(value[key], expected[key]) for key in expected)
    return bool(value == expected)
