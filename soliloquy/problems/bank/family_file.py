"""The schema of a family's TOML file."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from soliloquy.problems.mistakes.wrong_ways import Strategy
from soliloquy.truth.number_format import format_value, with_unit

Text = Annotated[str, StringConstraints(min_length=1)]
# Inserted into texts and lines of JSON without escaping.
Plain = Annotated[str, StringConstraints(pattern=r'^[^"\\{}\x00-\x1f]*$')]
Word = Annotated[Plain, StringConstraints(min_length=1)]
Symbol = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
# The plain keys of a family, `questions` among them, precede its first table.
_FIRST_TABLE = "\n["
_FEWEST = 2


class BadFamily(ValueError):
    """The file of a family is invalid; the message names the file and the reason."""


class _FamilyTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # Most commands read no family.


class _QuantityTable(_FamilyTable):
    name: Text
    unit: Plain


class GivenTable(_QuantityTable):
    """A quantity of the question, drawn from `low`, `low + step`, .. `high`."""

    low: float
    high: float
    step: float = Field(gt=0)
    # Not part of the question: what is to be found, from which `derived` quantities follow.
    hidden: bool = False

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.high < self.low:
            raise ValueError(f"`high` is {self.high:g}, which is below `low`, {self.low:g}")
        return self

    @cached_property
    def count(self) -> int:
        return round((self.high - self.low) / self.step) + 1

    def value(self, position: int) -> float:
        return float(f"{self.low + position * self.step:.10g}")

    def position_of(self, text: str) -> int | None:
        """Returns the position of a value by its written form; None if it is not among the values."""
        try:
            position = round((float(text) - self.low) / self.step)
        except (ValueError, OverflowError):
            return None
        if not 0 <= position < self.count:
            return None
        return position if format_value(self.value(position), self.unit) == with_unit(text, self.unit) else None


class DerivedTable(_QuantityTable):
    """A quantity of the question that follows from drawn ones, so that the results are round numbers."""

    expression: Text


class ConstantTable(_QuantityTable):
    value: float


class ResultTable(_QuantityTable):
    symbol: Symbol


class WrongTable(_FamilyTable):
    strategy: Strategy = "formula"
    # An expression, or the whole formula if the step calculates nothing.
    gives: Text
    # The misconception behind it, as the student would say it.
    because: str = ""


def _tables(wrong: object) -> object:
    """Takes `{formula = "a + b"}`, a mistake without a name, as `[{strategy = "formula", gives = "a + b"}]`."""
    if isinstance(wrong, Mapping):
        return [{"strategy": strategy, "gives": gives} for strategy, gives in wrong.items()]
    return wrong


class StepTable(_FamilyTable):
    """Yields a number, by `expression` and `result`; or chooses a law or writes algebra, by `formula`."""

    kind: Literal["equation", "rearrange", "convert", "compute", "algebra"]
    ask: Text
    explanation: Text
    formula: str = ""
    expression: str = ""
    result: ResultTable | None = None
    # The mistakes of students.
    wrong: Annotated[list[WrongTable], BeforeValidator(_tables)] = []

    @model_validator(mode="after")
    def _numeric_or_not(self) -> Self:
        if bool(self.expression) != bool(self.result) or bool(self.expression) == bool(self.formula):
            raise ValueError("a step requires either `expression` and `result`, or `formula`")
        if self.kind == "algebra":
            if self.expression or len(self.wrong) < _FEWEST or not all(wrong.because for wrong in self.wrong):
                raise ValueError("an algebra step requires a `formula` and two wrong ones, each with its `because`")
        elif self.formula and sorted(wrong.strategy for wrong in self.wrong) != ["formula", "rearrangement"]:
            raise ValueError("a step with a `formula` requires the wrong `formula` and `rearrangement`")
        return self


class ConceptTable(_FamilyTable):
    """A step in words; the first sentence of its explanation is the right answer."""

    kind: Literal["concept"]
    ask: Text
    explanation: Text
    # The wrong ideas that students hold.
    misconceptions: list[Text] = Field(min_length=2)


class FamilyFile(_FamilyTable):
    title: Text
    difficulty: Literal[1, 2, 3]
    answer: Symbol | None = None
    tolerance: float | None = Field(default=None, gt=0, lt=0.03)
    questions: list[Text] = Field(min_length=3)
    things: dict[Symbol, list[Word]] = {}
    given: dict[Symbol, GivenTable] = {}
    derived: dict[Symbol, DerivedTable] = {}
    constants: dict[Symbol, ConstantTable] = {}
    steps: list[Annotated[StepTable | ConceptTable, Field(discriminator="kind")]] = Field(min_length=2, max_length=4)

    @property
    def known(self) -> dict[Symbol, GivenTable | DerivedTable | ConstantTable]:
        """Returns the quantities that the question states."""
        given = {symbol: row for symbol, row in self.given.items() if not row.hidden}
        asked = "".join(self.questions)
        stated = {symbol: row for symbol, row in self.derived.items() if f"{{{symbol}}}" in asked}
        return {**given, **stated, **self.constants}

    @cached_property
    def is_concept(self) -> bool:
        return self.steps[0].kind == "concept"

    @model_validator(mode="after")
    def _calculated_or_not(self) -> Self:
        concepts = [step.kind == "concept" for step in self.steps]
        if any(concepts) and not all(concepts):
            raise ValueError("concept steps cannot be mixed with other steps")
        numeric = {name for name in ("answer", "tolerance", "given", "derived", "constants") if getattr(self, name)}
        if all(concepts) and numeric:
            raise ValueError(f"a family of concept steps cannot have {sorted(numeric)}")
        missing = {"answer", "tolerance", "given"} - numeric
        if missing and not all(concepts):
            raise ValueError(f"a family that calculates requires {sorted(missing)}")
        return self


def read_family(path: Path) -> FamilyFile:
    try:
        return FamilyFile.model_validate(_content(path))
    except ValidationError as error:
        raise BadFamily(f"{path.name}: {error}") from error


def read_questions(path: Path) -> Sequence[str]:
    """Reads only the questions, which is much faster than the whole family."""
    questions: Sequence[str] = _content(path, until=_FIRST_TABLE).get("questions", ())
    return questions


def _content(path: Path, *, until: str | None = None) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
        return tomllib.loads(text.partition(until)[0] if until else text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFamily(f"{path.name}: {error}") from error
