"""What a family's TOML file may hold."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from soliloquy.problems.mistakes.wrong_ways import Strategy

Text = Annotated[str, StringConstraints(min_length=1)]
# Goes into texts, and into a line of JSON, as it stands.
Plain = Annotated[str, StringConstraints(pattern=r'^[^"\\{}\x00-\x1f]*$')]
Word = Annotated[Plain, StringConstraints(min_length=1)]
Symbol = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
# What a family has no table for, its questions among them, stands above the first.
_FIRST_TABLE = "\n["


class BadFamily(ValueError):
    """A family's file does not describe problems that can be drawn."""


class _FamilyTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GivenTable(_FamilyTable):
    """A quantity of the question, drawn from `low`, `low + step`, .. `high`."""

    name: Text
    unit: Plain
    low: float
    high: float
    step: float = Field(gt=0)

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.high < self.low:
            raise ValueError(f"`high` is {self.high:g}, below `low`, which is {self.low:g}")
        return self


class ConstantTable(_FamilyTable):
    name: Text
    value: float
    unit: Plain


class ResultTable(_FamilyTable):
    symbol: Symbol
    name: Text
    unit: Plain


class StepTable(_FamilyTable):
    """A step that yields a number has an expression and a result; one that chooses a law has a formula."""

    kind: Literal["equation", "rearrange", "convert", "compute"]
    ask: Text
    explanation: Text
    formula: str = ""
    expression: str = ""
    result: ResultTable | None = None
    # What a student writes instead: an expression, or the whole formula where nothing is calculated.
    wrong: Mapping[Strategy, Text] = {}

    @model_validator(mode="after")
    def _numeric_or_not(self) -> Self:
        if bool(self.expression) != bool(self.result) or bool(self.expression) == bool(self.formula):
            raise ValueError("a step has either `expression` and `result`, or `formula`")
        if self.formula and self.wrong.keys() != {"formula", "rearrangement"}:
            raise ValueError("a step with a `formula` names its wrong `formula` and `rearrangement`")
        return self


class ConceptTable(_FamilyTable):
    """A step that is said in words; the first sentence of its explanation is the right answer."""

    kind: Literal["concept"]
    ask: Text
    explanation: Text
    # What students believe instead.
    misconceptions: list[Text] = Field(min_length=2)


class FamilyFile(_FamilyTable):
    title: Text
    difficulty: Literal[1, 2, 3]
    answer: Symbol | None = None
    tolerance: float | None = Field(default=None, gt=0, lt=0.03)
    questions: list[Text] = Field(min_length=3)
    things: dict[Symbol, list[Word]] = {}
    given: dict[Symbol, GivenTable] = {}
    constants: dict[Symbol, ConstantTable] = {}
    steps: list[Annotated[StepTable | ConceptTable, Field(discriminator="kind")]] = Field(min_length=2, max_length=4)

    @model_validator(mode="after")
    def _calculated_or_not(self) -> Self:
        concepts = [step.kind == "concept" for step in self.steps]
        if any(concepts) and not all(concepts):
            raise ValueError("all steps of a family are concept steps or none is")
        numeric = {name for name in ("answer", "tolerance", "given", "constants") if getattr(self, name)}
        if all(concepts) and numeric:
            raise ValueError(f"a family of concept steps calculates nothing, but has {sorted(numeric)}")
        missing = {"answer", "tolerance", "given"} - numeric
        if missing and not all(concepts):
            raise ValueError(f"{sorted(missing)} of a family that calculates are missing")
        return self


def read_family(path: Path) -> FamilyFile:
    try:
        return FamilyFile.model_validate(_content(path))
    except ValidationError as error:
        raise BadFamily(f"{path.name}: {error}") from error


def read_questions(path: Path) -> Sequence[str]:
    """The questions alone: far less work than the whole family."""
    questions: Sequence[str] = _content(path, until=_FIRST_TABLE).get("questions", ())
    return questions


def _content(path: Path, *, until: str | None = None) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
        return tomllib.loads(text.partition(until)[0] if until else text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFamily(f"{path.name}: {error}") from error
