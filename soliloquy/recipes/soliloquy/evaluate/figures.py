"""Computes the figures of the judged cases."""

from collections.abc import Sequence
from typing import Any

from soliloquy.recipes.soliloquy.evaluate.cases import CaseKind
from soliloquy.recipes.soliloquy.evaluate.judging import METRICS, JudgedCase
from training.evaluation.cases import parse_figures
from training.evaluation.shares import Share, share_of


def figures(results: Sequence[JudgedCase]) -> dict[str, Any]:
    rearranging = [result for result in results if result.case.rearranges]
    questions = [result for result in results if result.case.kind is CaseKind.RIGHT]
    others = [result for result in results if result.case.kind.numeric and not result.case.rearranges]
    return {
        "metrics": _metrics(results),
        "verification_by_answer": {
            kind.value: _share([result for result in results if result.case.kind is kind], "verification")
            for kind in (CaseKind.RIGHT, CaseKind.WRONG)
        },
        "rearranging": {
            "questions": share_of(result.case.rearranges for result in questions),
            "metrics": _metrics(rearranging),
            "metrics_of_others": _metrics(others),
        },
        **parse_figures(results),
    }


def _metrics(results: Sequence[JudgedCase]) -> dict[str, Share]:
    return {name: _share(results, name) for name in METRICS}


def _share(results: Sequence[JudgedCase], metric: str) -> Share:
    return share_of(result.passed[metric] for result in results if metric in result.passed)
