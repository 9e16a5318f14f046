"""`python -m benchmarks brought`."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any, Literal

import click
from pydantic import ValidationError

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.problems.files.imported_row import import_row
from soliloquy.problems.files.problem_from_row import BadField, problem_from_row
from soliloquy.problems.files.source_format import SourceFormat
from soliloquy.problems.solving.independent_programs import PROGRAMS, dispute, weigh
from soliloquy.truth.judge import as_written, compare
from soliloquy.truth.ledger import doubt_about, is_worked_out, ledger_of
from soliloquy.truth.locales import languages
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import Claim, CodeAttempt, Problem

BROUGHT = Path(__file__).parents[1] / "tests" / "unit" / "problems" / "brought"
_COLUMNS = ("question", "solution", "answer", "steps")

# "Taken as right" is an answer with an error that its solution seems to calculate. Both it and what is unverified are
# checked by independent programs in a run with a real model.
_OUTCOMES = (
    "good",
    "settled",
    "good refused",
    "with an error",
    "refused",
    "told",
    "unverified",
    "taken as right",
    "with programs",
)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
@click.option("--language", type=click.Choice(languages()), help="The language of the problems, if not English.")
@LISTED
@AS_JSON
def brought(*, folder: Path | None, language: str | None, listed: bool, as_json: bool) -> None:
    """Count which of the labelled problems in FOLDER are refused, and which false ones are taken as right.

    Each line of a JSONL file has a `row`, and in `planted` what is false in it; that is empty if all of it is right.
    The eight sets of this repository were written and labelled before the reader was run on them. `with programs`
    counts the errors that are refused or contradicted by programs that come to `true`, the right answer in its unit.
    Where a line has the false `number`, an error is told if it is refused or if what is open names that number; the
    kinds of such errors have rows of their own.
    """
    folder = folder or (BROUGHT.with_name(f"{BROUGHT.name}-{language}") if language else BROUGHT)
    files = judge(folder, language or "")
    report(files | totals(files) | kinds(folder, language or ""), _OUTCOMES, listed=listed, as_json=as_json)


def judge(folder: Path, language: str = "") -> dict[str, Readings]:
    """Returns what became of each file, by its path without the suffix."""
    paths = sorted(folder.rglob("*.jsonl"))
    return {path.relative_to(folder).with_suffix("").as_posix(): _judge_file(path, language) for path in paths}


def totals(files: Mapping[str, Readings]) -> dict[str, Readings]:
    """Returns the sum over the files of each set."""
    sets = groupby(files, lambda name: f"{PurePath(name).parent}/")
    return {name: total(files[one] for one in members) for name, members in sets}


def kinds(folder: Path, language: str = "") -> dict[str, Readings]:
    """Returns what became of each kind of planted error, where a line says which number is false."""
    found: dict[str, Readings] = {}
    for path in sorted(folder.rglob("*.jsonl")):
        for labelled in cases(path):
            if "number" in labelled:
                name = f"{path.parent.name}: {labelled['planted']}"
                found[name] = total([found.get(name, Readings()), _judged([labelled], path.stem, language)])
    return found


def _judge_file(path: Path, language: str) -> Readings:
    return _judged(cases(path), path.stem, language)


def _judged(rows: Iterable[dict[str, Any]], kind: str, language: str) -> Readings:
    readings = Readings()
    for labelled in rows:
        problem, refused = received(labelled["row"], kind, language)
        if labelled["planted"]:
            supported = problem is not None and is_worked_out(problem)
            outcomes = ["with an error", "refused" if refused else "taken as right" if supported else "unverified"]
            if "number" in labelled and (problem is None or names(doubt_about(problem), labelled["number"])):
                outcomes.append("told")
            if problem is None or ("true" in labelled and _is_contradicted(problem, labelled["true"])):
                outcomes.append("with programs")
        else:
            is_settled = problem is not None and is_worked_out(problem)
            outcomes = ["good", *(["good refused"] if refused else ["settled"] if is_settled else [])]
            if problem is not None and is_settled and "true" in labelled and not _is_answer(problem, labelled):
                outcomes, refused = (
                    ["good", "good refused"],
                    f"settles {format_value(problem.answer.value, problem.answer.unit)}",
                )
        is_wrong = bool(labelled["planted"]) != bool(refused)
        readings.add(outcomes, f"{labelled['id']}: {labelled['planted'] or refused}" if is_wrong else "")
    return readings


def _is_answer(problem: Problem, labelled: Mapping[str, Any]) -> bool:
    entry = ledger_of(problem).answer
    return (
        entry is not None and compare(as_written(Claim(value=labelled["true"], unit=labelled["unit"])), entry) is True
    )


def names(text: str, number: float) -> bool:
    return any(float(digits.replace(",", "")) == number for digits in _NUMBER.findall(text))


def _is_contradicted(problem: Problem, right: float) -> bool:
    """Whether programs that all come to the right answer contradict the stated one."""
    program = CodeAttempt(code=f"answer = 1 * {right!r}")
    program.execution.values.add().value.real = right
    found = weigh([program] * PROGRAMS)
    return problem.HasField("answer") and found is not None and bool(dispute(problem, found))


def received(row: dict[str, Any], kind: str, language: str = "") -> tuple[Problem | None, str]:
    """Returns the problem, or why it is refused."""
    columns = {name: name for name in _COLUMNS if name in row}
    match kind:
        case "gsm8k":
            source = _format("annotated", {"question": "question", "solution": "answer"})
        case "program":
            source = _format("program", columns)
        case _:
            source = _format("prose", columns)
    try:
        imported = import_row(row, source, language).problem
        return problem_from_row(imported, kind, language), ""
    except (BadField, ValidationError) as error:
        return None, " ".join(str(error).split())


def _format(solution: Literal["prose", "annotated", "program"], columns: dict[str, str]) -> SourceFormat:
    return SourceFormat(reader="jsonl", solution=solution, needs=("question", "solution"), columns=columns)
