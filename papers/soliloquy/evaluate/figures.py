"""Computes the figures of the judged cases, and writes their page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy_papers.soliloquy.evaluate.cases import CaseKind
from soliloquy_papers.soliloquy.evaluate.judging import METRICS, JudgedCase
from soliloquy_training.evaluation.cases import parse_figures
from soliloquy_training.evaluation.report import format_share, table
from soliloquy_training.evaluation.shares import Share, share_of


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


# The paper's figures: a person judged its own model on 25 questions.
PAPER = {"usage": 1.0, "non_usage": 1.0, "compilation": 0.97, "verification": 0.88}
WHOSE = "the paper's Higgs"


def page(report: Mapping[str, Any], results: Sequence[JudgedCase]) -> Iterator[str]:
    figures = report["figures"]
    yield f"""# Code Soliloquies evaluation of {report["name"]}

{report["cases"]["put"]}, each once with a right and
once with a wrong number from the student, and as many cases without a number.
Judged by the truth check and the sandbox; 95 % intervals after Wilson.
"""
    rows = [[title, format_share(figures["metrics"][name]), f"{PAPER[name]:.2f}"] for name, title in METRICS.items()]
    yield from table(["metric", "share of cases", "Higgs, judged by a person"], rows)
    rearranging = figures["rearranging"]
    yield f"\nQuestions that need a rearrangement: {format_share(rearranging['questions'])}.\n"
    groups = [rearranging["metrics"], rearranging["metrics_of_others"]]
    names = ("usage", "compilation", "verification")
    rows = [[METRICS[name], *(format_share(group[name]) for group in groups)] for name in names]
    yield from table(["metric", "with a rearrangement", "without"], rows)
    right, wrong = (format_share(figures["verification_by_answer"][kind]) for kind in ("right", "wrong"))
    missed = [result for result in results if not all(result.passed.values())]
    yield f"""
Right numbers confirmed: {right}. Wrong ones caught: {wrong}.
Answers that could be read at the first try: {format_share(figures["read_at_first"])}.

## Missed: {len(missed)} of {len(results)} cases
"""
    yield from map(_miss, missed)


def _miss(result: JudgedCase) -> str:
    problem = result.case.conversation.problem.source
    names = ", ".join(METRICS[name] for name, passed in result.passed.items() if not passed)
    return f"- `{result.case.id}` ({result.case.kind}, {problem}, step {result.case.step.number}): {names}"
