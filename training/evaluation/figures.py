"""What the judged cases of an evaluation come to: shares with their confidence intervals."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from training.evaluation.cases import Kind
from training.evaluation.judging import METRICS, Judged

# Of the standard normal distribution: 95 % lie within.
_Z = 1.959964


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    passed: int
    of: int
    # None of nothing.
    share: float | None
    low: float
    high: float

    @classmethod
    def counted(cls, outcomes: Iterable[bool]) -> Self:
        counts = Counter(outcomes)
        passed, of = counts[True], counts.total()
        low, high = wilson(passed, of)
        return cls(passed=passed, of=of, share=passed / of if of else None, low=low, high=high)


def wilson(passed: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share; sound for few cases and for shares of all or none."""
    if not of:
        return 0.0, 1.0
    share, spread = passed / of, _Z**2 / of
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def figures(results: Sequence[Judged]) -> dict[str, Any]:
    rearranging = [result for result in results if result.case.rearranges]
    questions = [result for result in results if result.case.kind is Kind.RIGHT]
    others = [result for result in results if result.case.kind.numeric and not result.case.rearranges]
    parsed = sum((result.parsed for result in results), Counter[str]())
    return {
        "metrics": _metrics(results),
        "verification_by_answer": {
            kind.value: asdict(_share([result for result in results if result.case.kind is kind], "verification"))
            for kind in (Kind.RIGHT, Kind.WRONG)
        },
        "rearranging": {
            "questions": asdict(Share.counted(result.case.rearranges for result in questions)),
            "metrics": _metrics(rearranging),
            "metrics_of_others": _metrics(others),
        },
        "read_at_first": asdict(Share.counted(_read_at_first(parsed))),
        "parsed": dict(sorted(parsed.items())),
    }


def _metrics(results: Sequence[Judged]) -> Mapping[str, Any]:
    return {name: asdict(_share(results, name)) for name in METRICS}


def _share(results: Sequence[Judged], metric: str) -> Share:
    return Share.counted(result.passed[metric] for result in results if metric in result.passed)


def _read_at_first(parsed: Counter[str]) -> Iterable[bool]:
    """Of all that the model was asked, whether its first answer could be used as it was."""
    return (outcome in ("strict", "repaired") for outcome in parsed.elements())
