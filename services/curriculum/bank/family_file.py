"""What a family's TOML file may hold."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from services.curriculum.working.wrong_ways import Strategy

Text = Annotated[str, StringConstraints(min_length=1)]
Symbol = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


class BadFamily(ValueError):
    """A family's file does not describe problems that can be drawn."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Given(_Table):
    """A quantity of the question, drawn from `low`, `low + step`, .. `high`."""

    name: Text
    unit: str
    low: float
    high: float
    step: float = Field(gt=0)

    def values(self) -> tuple[float, ...]:
        count = round((self.high - self.low) / self.step)
        return tuple(float(f"{self.low + index * self.step:.10g}") for index in range(count + 1))


class Constant(_Table):
    name: Text
    value: float
    unit: str


class Result(_Table):
    symbol: Symbol
    name: Text
    unit: str


class StepTable(_Table):
    """A step that yields a number has an expression and a result; one that chooses a law has a formula."""

    kind: Literal["equation", "rearrange", "convert", "compute"]
    ask: Text
    explanation: Text
    formula: str = ""
    expression: str = ""
    result: Result | None = None
    # What a student writes instead: an expression, or the whole formula where nothing is calculated.
    wrong: Mapping[Strategy, Text] = {}

    @model_validator(mode="after")
    def _numeric_or_not(self) -> Self:
        if bool(self.expression) != bool(self.result) or bool(self.expression) == bool(self.formula):
            raise ValueError("a step has either `expression` and `result`, or `formula`")
        if self.formula and self.wrong.keys() != {"formula", "rearrangement"}:
            raise ValueError("a step with a `formula` names its wrong `formula` and `rearrangement`")
        return self


class FamilyFile(_Table):
    title: Text
    topic: Text
    difficulty: Literal[1, 2, 3]
    answer: Symbol
    tolerance: float = Field(gt=0, lt=0.03)
    questions: list[Text] = Field(min_length=3)
    things: dict[Symbol, list[Text]] = {}
    given: dict[Symbol, Given] = Field(min_length=1)
    constants: dict[Symbol, Constant] = {}
    steps: list[StepTable] = Field(min_length=2, max_length=4)


def read_family(path: Path) -> FamilyFile:
    try:
        return FamilyFile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise BadFamily(f"{path.name}: {error}") from error
