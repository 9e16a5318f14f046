"""Annotation schemes: what annotators are asked, as data."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.files import read_regular_text

_SCHEMES = Path(__file__).with_name("schemes")
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
_Line = Annotated[str, Field(min_length=1, max_length=400)]
_Key = Annotated[str, Field(pattern=r"^[a-z0-9]?$")]
_MOST_TEXT = 4_000

Unit = Literal["conversation", "turn", "problem", "pair", "reply_pair"]
Turns = Literal["all", "mistakes"]
PAIRS: Sequence[Unit] = ("pair", "reply_pair")
# The labels with which annotators prefer one of a pair.
SIDES = ("side_1", "side_2")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Label(_Part):
    name: _Name
    title: _Line
    # One key chooses the label; empty for none.
    shortcut: _Key = ""


class Question(_Part):
    """One question about an item.

    Its value is the name of a label, or a list of names where `several` may hold; the number of a scale; the spans of
    a text, each with "start", "end" and "label"; or a text.
    """

    name: _Name
    title: _Line
    asks: _Line
    kind: Literal["label", "scale", "span", "text"]
    # For a label or a span; `ordered` says that each is more than the one before it.
    labels: Sequence[Label] = ()
    ordered: bool = False
    several: bool = False
    # The ends of a scale, and what they mean.
    least: int = 1
    most: int = 5
    ends: Sequence[_Line] = ()
    required: bool = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.kind in ("label", "span")) != bool(self.labels):
            raise ValueError(f"{self.name}: only a label or a span has `labels`, and it must have some")
        if self.kind == "scale" and not self.least < self.most:
            raise ValueError(f"{self.name}: the scale from {self.least} to {self.most} is empty")
        if len({one.name for one in self.labels}) < len(self.labels):
            raise ValueError(f"{self.name}: two labels have one name")
        keys = [one.shortcut for one in self.labels if one.shortcut]
        if len({*keys}) < len(keys):
            raise ValueError(f"{self.name}: two labels have one shortcut")
        return self

    def fault(self, value: Any) -> str:
        """Returns what is wrong with a value, in words; empty for a good one."""
        names = [one.name for one in self.labels]
        match self.kind, value:
            case ("label", str()) if not self.several and value in names:
                return ""
            case ("label", list()) if self.several and value and all(one in names for one in value):
                return ""
            case ("scale", int()) if not isinstance(value, bool) and self.least <= value <= self.most:
                return ""
            case ("text", str()) if len(value) <= _MOST_TEXT and (value.strip() or not self.required):
                return ""
            case ("span", list()) if all(_is_span(one, names) for one in value) and (value or not self.required):
                return ""
        return f"{self.name}: {str(value)[:80]!r} is not {self._wanted(names)}"

    def _wanted(self, names: Sequence[str]) -> str:
        match self.kind:
            case "label":
                return f"{'a list of some' if self.several else 'one'} of {', '.join(names)}"
            case "scale":
                return f"a whole number from {self.least} to {self.most}"
            case "span":
                return f"a list of spans, each with start, end and a label of {', '.join(names)}"
            case _:
                return f"a text of at most {_MOST_TEXT:,} characters"


class Scheme(_Part):
    """The questions about each item of one kind."""

    name: _Name
    title: _Line
    unit: Unit
    # The turns that a scheme of turns can judge: all, or replies to a student's mistake.
    turns: Turns = "all"
    # Read by an annotator before the first item.
    guide: Annotated[str, Field(min_length=1, max_length=4_000)]
    questions: Annotated[Sequence[Question], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.turns != "all" and self.unit != "turn":
            raise ValueError(f"turns: is for the unit turn, and the unit is {self.unit}")
        if len({one.name for one in self.questions}) < len(self.questions):
            raise ValueError("two questions have one name")
        return self

    def side_question(self) -> str:
        """Returns the name of the question that asks which one of a pair is better; raises Failure."""
        asked = (one.name for one in self.questions if {*SIDES} <= {label.name for label in one.labels})
        if (found := next(asked, None)) is None:
            raise Failure(f"{self.name} has no question with the labels {' and '.join(SIDES)}")
        return found

    def fault(self, values: Mapping[str, Any]) -> str:
        """Returns what is wrong with the values of an annotation, by the names of questions; empty for good ones."""
        known = {one.name: one for one in self.questions}
        for name, value in values.items():
            if name not in known:
                return f"there is no question {name[:40]!r}{did_you_mean(name, known)}"
            if fault := known[name].fault(value):
                return fault
        missing = [one.name for one in self.questions if one.required and one.name not in values]
        return f"{missing[0]}: is missing" if missing else ""


def _is_span(value: Any, labels: Sequence[str]) -> bool:
    match value:
        case {"start": int(start), "end": int(end), "label": str(label)}:
            return 0 <= start < end and label in labels
    return False


def read_scheme(file: Path) -> Scheme:
    """Raises Failure."""
    try:
        return Scheme.model_validate(tomllib.loads(read_regular_text(file)))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"{file} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Failure(f"{file}: {where}: {first['msg'].removeprefix('Value error, ')}") from error


@cache
def schemes() -> Mapping[str, Scheme]:
    """Returns the shipped schemes by name."""
    found = map(read_scheme, sorted(_SCHEMES.glob("*.toml")))
    return {scheme.name: scheme for scheme in found}


def scheme_of(name: str) -> Scheme:
    """Returns a shipped scheme, or one from a file; raises Failure."""
    if name in schemes():
        return schemes()[name]
    if (file := Path(name)).suffix == ".toml":
        return read_scheme(file)
    raise Failure(f"there is no scheme {name!r}: use {', '.join(schemes())}, or a TOML file")
