"""Defines the answers that several recipes ask for, and accepts the slips that real models make in them."""

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.code import names, unfenced

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
_SPEAKER = re.compile(r"^\s*(student|tutor|tutorbot|teacher)\s*:\s*", re.IGNORECASE)


def yes_or_no(value: object) -> object:
    if isinstance(value, bool):
        return "y" if value else "n"
    return value.strip().lower()[:1] if isinstance(value, str) else value


def without_speaker(value: object) -> object:
    return _SPEAKER.sub("", value).strip() if isinstance(value, str) else value


def in_code_fence(value: object) -> object:
    return f"```python\n{unfenced(value)}\n```" if isinstance(value, str) else value


def any_of(*kinds: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Describes fields that depend on each other: one dict per kind of answer, with the fields that differ; None omits
    a field.

    Puts into the schema what a validator would only reject afterwards.
    """

    def write(schema: dict[str, Any]) -> None:
        fields = schema.pop("properties")
        del schema["required"]
        schema["anyOf"] = [_exactly({name: kind.get(name, field) for name, field in fields.items()}) for kind in kinds]

    return write


def _exactly(fields: dict[str, Any]) -> dict[str, Any]:
    present = {name: field for name, field in fields.items() if field is not None}
    return {"type": "object", "properties": present, "required": list(present), "additionalProperties": False}


class PlainAnswer(Answer):
    """An answer in plain text, which no schema constrains."""

    @classmethod
    def json_schema(cls) -> str:
        return ""


class StudentMessage(PlainAnswer):
    """A student's message in plain text."""

    text: Text
    # Matches words spoken on behalf of the other speaker.
    other: ClassVar[re.Pattern[str]] = re.compile(r"^\s*(tutor|tutorbot|teacher)\s*:", re.IGNORECASE | re.MULTILINE)

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        spoken = _SPEAKER.sub("", text).strip().strip('"')
        if not spoken:
            raise Unreadable("the message is empty")
        if other := cls.other.search(spoken):
            raise Unreadable(f"the message also speaks for another ({other[0].strip()}); write your own words only")
        return cls(text=spoken), spoken == text


class TutorMessage(StudentMessage):
    """A tutor's message in plain text."""

    other: ClassVar[re.Pattern[str]] = re.compile(r"^\s*student\s*:", re.IGNORECASE | re.MULTILINE)


class Decision(Answer):
    model_config = ConfigDict(
        json_schema_extra=any_of(
            {"Use Python": {"const": "n"}, "Description": None},
            {"Use Python": {"const": "y"}, "Description": {"type": "string", "minLength": 1}},
        )
    )

    use_python: Annotated[Literal["y", "n"], BeforeValidator(yes_or_no)] = Field(alias="Use Python")
    description: Text | None = Field(default=None, alias="Description")

    @model_validator(mode="after")
    def _described(self) -> Self:
        if self.use_python == "y" and self.description is None:
            raise ValueError('"Use Python" is "y", so "Description" must say what to calculate')
        return self


class _Program(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, json_schema_extra={"additionalProperties": False})

    fenced: Annotated[Text, BeforeValidator(in_code_fence)] = Field(alias="Python Code")
    result_variable: Text = Field(alias="Result Variable")


class Program(Answer):
    python: _Program = Field(alias="Python")

    @property
    def code(self) -> str:
        return unfenced(self.python.fenced)

    @property
    def result_variables(self) -> list[str]:
        return names(self.python.result_variable)
