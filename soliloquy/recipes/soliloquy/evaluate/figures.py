"""Computes the figures of the judged cases."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from soliloquy.recipes.soliloquy.evaluate.cases import CaseKind
from soliloquy.recipes.soliloquy.evaluate.judging import METRICS, JudgedCase
from training.evaluation.recipe_loop import parse_outcomes
from training.evaluation.shares import Proportion, first_read


def figures(results: Sequence[JudgedCase]) -> dict[str, Any]:
    rearranging = [result for result in results if result.case.rearranges]
    questions = [result for result in results if result.case.kind is CaseKind.RIGHT]
    others = [result for result in results if result.case.kind.numeric and not result.case.rearranges]
    parsed = parse_outcomes(call for result in results for call in result.calls)
    return {
        "metrics": _metrics(results),
        "verification_by_answer": {
            kind.value: asdict(_share([result for result in results if result.case.kind is kind], "verification"))
            for kind in (CaseKind.RIGHT, CaseKind.WRONG)
        },
        "rearranging": {
            "questions": asdict(Proportion.of_outcomes(result.case.rearranges for result in questions)),
            "metrics": _metrics(rearranging),
            "metrics_of_others": _metrics(others),
        },
        "read_at_first": asdict(first_read(parsed)),
        "parsed": dict(sorted(parsed.items())),
    }


def _metrics(results: Sequence[JudgedCase]) -> Mapping[str, Any]:
    return {name: asdict(_share(results, name)) for name in METRICS}


def _share(results: Sequence[JudgedCase], metric: str) -> Proportion:
    return Proportion.of_outcomes(result.passed[metric] for result in results if metric in result.passed)
