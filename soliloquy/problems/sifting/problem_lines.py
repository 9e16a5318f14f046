"""The unchanged lines of a problem file, with the fields that sifting needs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.problems.book import as_one_line
from soliloquy.problems.files.problem_file import text_lines
from soliloquy.problems.files.reading.json_rows import NotJson, parse_json
from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.programs.tracing import structure_of
from soliloquy.runtime.seeds import digest

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProblemLine:
    number: int
    # With its line feed.
    text: str
    row: dict[str, Any]

    @property
    def question(self) -> str:
        return str(self.row["question"])

    @property
    def problem(self) -> str:
        """Returns the id, or a hash of the question, which all dialogues about a problem share."""
        return str(self.row.get("id") or digest("question", as_one_line(self.question)))

    @property
    def structure(self) -> str:
        """Returns the calculation without its numbers: that of the program, or of the steps; empty if there is none."""
        steps = self.row.get("steps")
        written = [str(step.get("expression") or "") for step in steps] if isinstance(steps, list) else []
        return structure_of(str(self.row.get("solution"))) or _NUMBER.sub("#", "; ".join(filter(None, written)))

    @property
    def solve_rate(self) -> float | None:
        rate = self.extra.get("solve_rate")
        return float(rate) if isinstance(rate, int | float) and 0 <= rate <= 1 else None

    @property
    def extra(self) -> dict[str, Any]:
        extra = self.row.get("extra")
        return extra if isinstance(extra, dict) else {}

    def stratum(self, by: str) -> str:
        """Returns an empty text if the row lacks the field."""
        value = self.row.get(by) or self.extra.get(by)
        return "" if value is None else str(value)


def problem_lines(path: Path) -> Iterator[ProblemLine]:
    """Raises UnreadableSource at the first invalid line."""
    for line in text_lines(path):
        text = line.text if line.text.endswith("\n") else f"{line.text}\n"
        yield ProblemLine(number=line.number, text=text, row=_row(f"{path}:{line.number}", line.text))


def _row(place: str, text: str) -> dict[str, Any]:
    try:
        row = parse_json(text)
    except NotJson as error:
        raise UnreadableSource(f"{place}: text: {error}") from error
    if not isinstance(row, dict):
        raise UnreadableSource(f"{place}: text: expected a JSON object")
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise UnreadableSource(f"{place}: question: expected text; `problems import` converts other formats")
    return row
