"""Annotations as rows of a file, and as tables for agreement."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from soliloquy.annotation.agreement import Table
from soliloquy.annotation.scheme import Question, Scheme
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text

# An item that people judge first, by people who already know how.
Round = Literal["annotation", "adjudication", "gold"]
_Text = Annotated[str, Field(min_length=1, max_length=400)]


class Annotation(BaseModel):
    """The judgement of one person on one item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: _Text
    annotator: _Text
    scheme: _Text
    values: Mapping[str, Any]
    # How long it took, and when it was given, as seconds since 1970.
    seconds: float = 0.0
    at: float = 0.0
    round: Round = "annotation"


def read_annotations(file: Path) -> list[Annotation]:
    """Reads lines, or the gateway's answer as it is; raises Failure for a row that is none."""
    found, lines = [], [*_lines(file)]
    if len(lines) == 1 and (answered := _answer(lines[0])) is not None:
        lines = answered
    for number, line in enumerate(lines, start=1):
        try:
            found.append(Annotation.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise Failure(f"{file}:{number}: {where}: {first['msg']}") from error
    return found


def _lines(file: Path) -> Iterator[str]:
    try:
        yield from filter(str.strip, read_regular_text(file).splitlines())
    except (OSError, UnicodeError) as error:
        raise Failure(f"{file} cannot be read: {error}") from error


def _answer(line: str) -> list[str] | None:
    """Returns the rows in an answer of the gateway; None for a row."""
    try:
        answer = json.loads(line)
    except ValueError:
        return None
    rows = answer.get("annotations") if isinstance(answer, dict) else None
    return [json.dumps(row) for row in rows] if isinstance(rows, list) else None


def written(annotations: Iterable[Annotation]) -> Iterator[str]:
    for one in annotations:
        yield json.dumps(one.model_dump(mode="json"), ensure_ascii=False) + "\n"


def annotators(annotations: Iterable[Annotation]) -> list[str]:
    return sorted({one.annotator for one in annotations})


def tables_of(annotations: Sequence[Annotation], scheme: Scheme) -> Iterator[tuple[Question, str, Table]]:
    """Yields the table of each question, and one of each label where several may hold; texts and spans have none."""
    rounds = [one for one in annotations if one.round != "adjudication"]
    items, people = sorted({one.item for one in rounds}), annotators(rounds)
    places = {item: place for place, item in enumerate(items)}, {name: place for place, name in enumerate(people)}
    for question in scheme.questions:
        if question.kind not in ("label", "scale"):
            continue
        names = [label.name for label in question.labels]
        for part in names if question.several else [""]:
            table = np.full((len(items), len(people)), np.nan)
            for one in rounds:
                if (value := one.values.get(question.name)) is not None:
                    at = places[0][one.item], places[1][one.annotator]
                    table[at] = part in value if part else names.index(value) if names else value
            yield question, part, table


def require_scheme(annotations: Iterable[Annotation], scheme: Scheme) -> None:
    """Raises Failure for an annotation of another scheme, or one that does not answer it."""
    for one in annotations:
        if one.scheme != scheme.name:
            raise Failure(f"{one.item} by {one.annotator} is of the scheme {one.scheme}, and not of {scheme.name}")
        if fault := scheme.fault(one.values):
            raise Failure(f"{one.item} by {one.annotator}: {fault}")
