"""Problems from a file: JSONL, one problem per line."""

import hashlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from soliloquy.problems.book import as_one_line
from soliloquy.problems.files.imported_row import own_row
from soliloquy.problems.files.problem_from_row import BadField, problem_from_row, problem_id
from soliloquy.problems.files.reading.json_rows import NotJson, parse_json
from soliloquy.problems.files.reading.rows import TextLine, UnreadableSource, lines
from soliloquy.problems.files.row_faults import refusal
from soliloquy.problems.files.source_format import READERS
from soliloquy.truth.ledger import doubt_about
from soliloquy.v1.conversation_pb2 import Problem

# A file of another name is no problem file, whatever it holds.
SUFFIXES = ("", ".jsonl", ".ndjson", ".json", ".txt")


class FaultyLine(UnreadableSource):
    """A line is no problem; further ones may be none either."""


@dataclass(frozen=True, kw_only=True)
class ProblemFile:
    problems: Sequence[Problem]

    @property
    def count(self) -> int:
        return len(self.problems)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the problems, independent of the file's location."""
        content = hashlib.sha256()
        for problem in self.problems:
            anywhere = Problem()
            anywhere.CopyFrom(problem)
            anywhere.ClearField("source")
            payload = anywhere.SerializeToString(deterministic=True)
            content.update(len(payload).to_bytes(8, "big") + payload)
        return content.hexdigest()

    def problem(self, run_seed: int, ordinal: int) -> Problem:
        """Returns the problems in the order of the file, starting over after the last; ignores the seed."""
        return self.problems[ordinal % len(self.problems)]


def read_problems(path: Path, language: str = "") -> list[Problem]:
    """Returns every problem of a file; raises UnreadableSource for the first error."""
    line_of: dict[str, int] = {}
    return [_made(path, line, language, line_of) for line in text_lines(path)]


def problem_faults(
    path: Path, report_open: Callable[[str], None] = lambda _: None, language: str = ""
) -> Iterator[str]:
    """Yields the first fault of each line; reports why the answers of the others are open."""
    line_of: dict[str, int] = {}
    try:
        for line in text_lines(path):
            try:
                if doubt := doubt_about(_made(path, line, language, line_of)):
                    report_open(f"{path}:{line.number}: {doubt}")
            except UnreadableSource as bad:
                yield str(bad)
    except UnreadableSource as bad:
        yield str(bad)


def _made(path: Path, line: TextLine, language: str, line_of: dict[str, int]) -> Problem:
    number = line.number
    try:
        row = own_row(parse_json(line.text), language)
        made = problem_from_row(row, f"{path.name}:{number}", language)
    except NotJson as error:
        raise FaultyLine(f"{path}:{number}: text: {error}") from error
    except (ValidationError, BadField) as error:
        raise FaultyLine(str(refusal(f"{path}:{number}", error))) from error
    for field, value in (("id", problem_id(row)), ("question", as_one_line(row.question))):
        first = line_of.setdefault(f"{field} {value}", number)
        if first != number:
            raise FaultyLine(f"{path}:{number}: {field}: the same as on line {first}")
    return made


def text_lines(path: Path) -> Iterator[TextLine]:
    """Yields the lines of a problem file that contain text; raises UnreadableSource if one is invalid or none does."""
    _refuse_other_format(path)
    empty = True
    for line in lines(path):
        if line.flaw:
            raise FaultyLine(f"{path}:{line.number}: text: {line.flaw}")
        if line.text.strip():
            if empty and line.text.lstrip().startswith("["):
                raise _other_format(path, "jsonl")
            empty = False
            yield line
    if empty:
        raise UnreadableSource(f"{path}:1: question: the file contains no problem")


def _refuse_other_format(path: Path) -> None:
    suffix = path.suffix.lower()
    if (form := READERS.get(suffix, "jsonl")) != "jsonl":
        raise _other_format(path, form)
    if suffix not in SUFFIXES and path.is_file():
        example = '{"question": "..", "solution": ".."}'
        raise UnreadableSource(f"{path} is not JSONL: write each problem as a line {example}, or all as a CSV table")


def _other_format(path: Path, form: str) -> UnreadableSource:
    out = path.with_suffix(".jsonl") if path.suffix != ".jsonl" else path.with_stem(f"{path.stem}-lines")
    command = f"soliloquy problems import {shlex.quote(str(path))} --as {form} --out {shlex.quote(str(out))}"
    return UnreadableSource(f"{path} is not JSONL: convert it with {command}")
