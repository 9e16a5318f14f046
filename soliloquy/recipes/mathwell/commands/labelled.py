"""Reads word problems with their programs, and with labels if people have judged them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from soliloquy.problems.files.reading.rows import RefusedRow, SourceRow, UnreadableSource
from soliloquy.problems.files.source_format import SourceFormat
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, WordProblem

_READING = SourceFormat(reader="by suffix", solution="prose", needs=(), columns={})
_LABELS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "y"), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "n"), False),
}


def word_problems(path: Path) -> Iterator[tuple[WordProblem, Mapping[Criterion, bool]]]:
    """Reads the columns `question`, `solution`, `answer`, `topic` and one for each criterion; raises Unreadable."""
    for row in _READING.rows(path):
        if isinstance(row, RefusedRow):
            raise UnreadableSource(str(row))
        yield _problem(row), {one: label for one in Criterion if (label := _label(row, one)) is not None}


def _problem(row: SourceRow) -> WordProblem:
    question, code = (_text(row.cells, name) for name in ("question", "solution"))
    if not question or not code:
        raise UnreadableSource(
            f"{row.place}: question or solution is missing; the solution is the code of `def solution():`"
        )
    given = row.cells.get("answer")
    # In a problem file an answer is a value with its unit.
    answers = given if isinstance(given, dict) else {"value": given}
    try:
        answer = float(_text(answers, "value").replace(",", "") or "nan")
    except ValueError as error:
        raise UnreadableSource(f"{row.place}: answer: {row.cells['answer']!r} is not a number") from error
    return WordProblem(
        question=question, code=code, answer=None if answer != answer else answer, topic=_text(row.cells, "topic")
    )


def _label(row: SourceRow, criterion: Criterion) -> bool | None:
    """Returns None if nobody judged it."""
    text = _text(row.cells, criterion.value).lower()
    if text and text not in _LABELS:
        raise UnreadableSource(
            f"{row.place}: {criterion}: {text!r} is not a label: use true or false, or leave it empty"
        )
    return _LABELS.get(text)


def _text(cells: Mapping[str, Any], name: str) -> str:
    value = cells.get(name)
    return "" if value is None else str(value).strip()
