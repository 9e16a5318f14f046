"""An evaluation's files: the figures as JSON, as a page, as a picture, and the evidence of each case."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.evaluation.judging import METRICS, Judged

REPORT = "report.json"
CASES = "cases.jsonl"
PAGE = "report.md"
PICTURE = "report.svg"
# What a person found of the paper's own model, on 25 questions.
PAPER = {"usage": 1.0, "non_usage": 1.0, "compilation": 0.97, "verification": 0.88}


def write_report(folder: Path, report: Mapping[str, Any], results: Sequence[Judged]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(result.as_json(), ensure_ascii=False) for result in results)
    (folder / CASES).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / PAGE).write_text("\n".join(_page(report, results)) + "\n", "utf-8")
    # The last, and at once: a folder with a report is a whole evaluation.
    unfinished = folder / f".{REPORT}.unfinished"
    unfinished.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    unfinished.replace(folder / REPORT)


def read_report(folder: Path) -> dict[str, Any] | None:
    """None where there is no whole evaluation."""
    try:
        return dict(json.loads((folder / REPORT).read_bytes()))
    except FileNotFoundError:
        return None


def told(share: Mapping[str, Any]) -> str:
    """ "0.96 (48 of 50, 0.87 to 0.99)" """
    if share["share"] is None:
        return "no case"
    return f"{share['share']:.2f} ({share['passed']} of {share['of']}, {share['low']:.2f} to {share['high']:.2f})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """In Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _page(report: Mapping[str, Any], results: Sequence[Judged]) -> Iterator[str]:
    figures, drawn = report["figures"], report["cases"]
    yield f"# Higgs evaluation of {report['name']}"
    yield ""
    yield f"{drawn['questions']} questions of `{drawn['problems']}`, seed {drawn['seed']}, each once with a right and"
    yield "once with a wrong number from the student, and as many cases without a number."
    yield "Judged by the truth check and the sandbox; 95 % intervals after Wilson."
    yield ""
    rows = [[title, told(figures["metrics"][name]), f"{PAPER[name]:.2f}"] for name, title in METRICS.items()]
    yield from table(["metric", "share of cases", "Higgs, judged by a person"], rows)
    yield ""
    rearranging = figures["rearranging"]
    yield f"Questions that need a rearrangement: {told(rearranging['questions'])}."
    yield ""
    groups = [rearranging["metrics"], rearranging["metrics_of_others"]]
    names = ("usage", "compilation", "verification")
    rows = [[METRICS[name], *(told(group[name]) for group in groups)] for name in names]
    yield from table(["metric", "with a rearrangement", "without"], rows)
    yield ""
    by_answer = figures["verification_by_answer"]
    yield f"Right numbers confirmed: {told(by_answer['right'])}. Wrong ones caught: {told(by_answer['wrong'])}."
    yield f"Answers that could be read at the first try: {told(figures['read_at_first'])}."
    missed = [result for result in results if not all(result.passed.values())]
    yield ""
    yield f"## Missed: {len(missed)} of {len(results)} cases"
    yield ""
    yield from (_miss(result) for result in missed)


def _miss(result: Judged) -> str:
    problem = result.case.conversation.problem.source
    names = ", ".join(METRICS[name] for name, passed in result.passed.items() if not passed)
    return f"- `{result.case.id}` ({result.case.kind}, {problem}, step {result.case.step.number}): {names}"
