"""Writes the report of the evaluation: the four metrics by kind of question, and the missed cases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy.recipes.soliloquy.evaluate.judging import METRICS, JudgedCase
from training.evaluation.report import format_share, table

# The paper's figures: a person judged its own model on 25 questions.
PAPER = {"usage": 1.0, "non_usage": 1.0, "compilation": 0.97, "verification": 0.88}
WHOSE = "the paper's Higgs"


def page(report: Mapping[str, Any], results: Sequence[JudgedCase]) -> Iterator[str]:
    figures = report["figures"]
    yield f"# Code Soliloquies evaluation of {report['name']}"
    yield ""
    yield f"{report['cases']['put']}, each once with a right and"
    yield "once with a wrong number from the student, and as many cases without a number."
    yield "Judged by the truth check and the sandbox; 95 % intervals after Wilson."
    yield ""
    rows = [[title, format_share(figures["metrics"][name]), f"{PAPER[name]:.2f}"] for name, title in METRICS.items()]
    yield from table(["metric", "share of cases", "Higgs, judged by a person"], rows)
    yield ""
    rearranging = figures["rearranging"]
    yield f"Questions that need a rearrangement: {format_share(rearranging['questions'])}."
    yield ""
    groups = [rearranging["metrics"], rearranging["metrics_of_others"]]
    names = ("usage", "compilation", "verification")
    rows = [[METRICS[name], *(format_share(group[name]) for group in groups)] for name in names]
    yield from table(["metric", "with a rearrangement", "without"], rows)
    yield ""
    by_answer = figures["verification_by_answer"]
    right, wrong = (format_share(by_answer[kind]) for kind in ("right", "wrong"))
    yield f"Right numbers confirmed: {right}. Wrong ones caught: {wrong}."
    yield f"Answers that could be read at the first try: {format_share(figures['read_at_first'])}."
    missed = [result for result in results if not all(result.passed.values())]
    yield ""
    yield f"## Missed: {len(missed)} of {len(results)} cases"
    yield ""
    yield from (_miss(result) for result in missed)


def _miss(result: JudgedCase) -> str:
    problem = result.case.conversation.problem.source
    names = ", ".join(METRICS[name] for name, passed in result.passed.items() if not passed)
    return f"- `{result.case.id}` ({result.case.kind}, {problem}, step {result.case.step.number}): {names}"
