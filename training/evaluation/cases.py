"""The cases of an evaluation: drawn once, answered in parallel, each with a result and the tutor's calls."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from soliloquy.annotation.intervals import wilson
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.v1.conversation_pb2 import ModelCall, ParseOutcome

# `passed` of `of` cases, their `share`, which is None without cases, and its interval from `low` to `high`.
Share = dict[str, Any]


def share_of(outcomes: Iterable[bool]) -> Share:
    counts = Counter(outcomes)
    return _share(counts[True], counts.total())


def share_of_scores(scores: Sequence[float]) -> Share:
    """Sums scores from 0 to 1; the interval assumes passes and failures, so it is rather too wide."""
    return _share(round(sum(scores), 2), len(scores))


def _share(passed: float, of: int) -> Share:
    low, high = wilson(passed, of)
    return {"passed": passed, "of": of, "share": passed / of if of else None, "low": low, "high": high}


C = TypeVar("C")
R = TypeVar("R")

# The exceptions of a model that does not answer; they fail the case and not the evaluation.
NO_ANSWER = (ModelRefused, ModelFailed)


class CaseResult(Protocol):
    """The result of one case."""

    def as_json(self) -> dict[str, Any]: ...

    @property
    def calls(self) -> Sequence[ModelCall]:
        """The model calls of the tutor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnCases(Generic[C]):
    cases: Sequence[C]
    # Problems that yielded none.
    passed_over: int
    # Identifies the cases: evaluations with the same digest can be compared.
    digest: str


def digest_of(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


async def run_bounded(
    cases: Iterable[C],
    run: Callable[[C], Awaitable[R]],
    *,
    at_once: int,
    on_result: Callable[[R], None] = lambda _: None,
) -> list[R]:
    """Runs at most `at_once` cases at a time and returns their results in order."""
    room = asyncio.Semaphore(at_once)

    async def admit(case: C) -> R:
        async with room:
            result = await run(case)
        on_result(result)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(admit(case)) for case in cases]
    return [task.result() for task in tasks]


def parse_outcomes(calls: Iterable[ModelCall]) -> dict[str, int]:
    """Counts how the model's answers could be parsed."""
    outcomes = (ParseOutcome.Name(call.outcome).removeprefix("PARSE_OUTCOME_").lower() for call in calls)
    return dict(sorted(Counter(outcomes).items()))


def parse_figures(results: Iterable[CaseResult]) -> dict[str, Any]:
    """Returns the share of answers that were usable at the first try, and how many were parsed in which way."""
    parsed = parse_outcomes(call for result in results for call in result.calls)
    usable = (outcome in ("strict", "repaired") for outcome in Counter(parsed).elements())
    return {"read_at_first": share_of(usable), "parsed": parsed}


def adapter_digests(results: Iterable[CaseResult]) -> list[str]:
    """Returns the digests of the adapters that answered."""
    return sorted({call.adapter_digest for result in results for call in result.calls if call.adapter_digest})
