"""Reads word problems with their programs, and with labels if people have judged them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from soliloquy.cli.terminal import echo
from soliloquy.problems.files.reading.rows import RefusedRow, SourceRow
from soliloquy.problems.files.source_format import ANY_ROWS
from soliloquy.runtime.failure import Failure
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Labelled, WordProblem

# A problem's writer.
_WRITERS = ("writer", "model")
# The published files name criteria by nouns.
_COLUMNS = {
    Criterion.SOLVABLE: ("solvable", "solvability"),
    Criterion.ACCURATE: ("accurate", "accuracy"),
    Criterion.APPROPRIATE: ("appropriate", "appropriateness"),
}
_LABELS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "y"), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "n"), False),
}


def tell(row: RefusedRow) -> None:
    echo(row, err=True)


def word_problems(path: Path, report: Callable[[RefusedRow], None] = tell) -> Iterator[Labelled]:
    """Yields the problems of any file that this project or the paper's authors write; reports the other rows.

    Raises UnreadableSource, or Failure if there is no problem.
    """
    refused, found = 0, False
    for row in ANY_ROWS.rows(path):
        problem = row if isinstance(row, RefusedRow) else _problem(row)
        if isinstance(problem, RefusedRow):
            refused += 1
            report(problem)
        else:
            found = True
            yield problem
    if not found:
        raise Failure(f"{path}: none of {refused} rows is a word problem")


def _problem(row: SourceRow) -> Labelled | RefusedRow:
    question, solution = (_text(row.cells, name) for name in ("question", "solution"))
    if not question:
        return RefusedRow(place=row.place, field="question", reason="is missing")
    labels: dict[Criterion, bool] = {}
    for criterion, columns in _COLUMNS.items():
        for column in columns:
            if not (text := _text(row.cells, column).lower()):
                continue
            if text not in _LABELS:
                why = f"{text!r} is not a label: use true or false, or leave it empty"
                return RefusedRow(place=row.place, field=column, reason=why)
            labels[criterion] = _LABELS[text]
    # A problem for tutoring may be solved in words.
    code = solution if "def " in solution else ""
    answer = _number(row.cells.get("answer"))
    problem = WordProblem(question=question, code=code, answer=answer, topic=_text(row.cells, "topic"))
    writer = next((text for column in _WRITERS if (text := _text(row.cells, column))), "")
    return Labelled(problem, labels, writer)


def _number(cell: Any) -> float | None:
    """Returns None for tuples, lists and words, which the published answers may be."""
    # In a problem file an answer is a value with its unit.
    value = cell.get("value") if isinstance(cell, dict) else cell
    try:
        number = float("" if value is None else str(value).replace(",", ""))
    except ValueError:
        return None
    return None if number != number else number


def _text(cells: Mapping[str, Any], name: str) -> str:
    value = cells.get(name)
    return "" if value is None else str(value).strip()
