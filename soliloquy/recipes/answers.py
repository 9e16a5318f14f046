"""Defines the answers that several recipes ask for, and accepts the slips that real models make in them."""

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic.config import JsonDict

from soliloquy.recipes.speech import cleaned, has_alternatives, is_about_the_message, is_only_a_name, second_speaker
from soliloquy.runtime.answers import Answer, Fields, Refusal, Unreadable, is_placeholder, is_refusal, partial_field
from soliloquy.runtime.code import names, unfenced
from soliloquy.runtime.files import table_beside

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


_NUMBER = re.compile(r"\d")
_WORDS = table_beside(__file__, "answers.toml")
_CHOICE = "|".join((*_WORDS["yes"], *_WORDS["no"]))
# A choice that was not made.
_EITHER = re.compile(rf"^\W*(?:{_CHOICE})\s*(?:/|\||or)\s*(?:{_CHOICE})\W*$", re.IGNORECASE)


def yes_or_no(value: object) -> object:
    if isinstance(value, bool):
        return "y" if value else "n"
    return value.strip().lower()[:1] if isinstance(value, str) and not _EITHER.search(value) else value


def spoken_by_tutor(value: object) -> object:
    return cleaned(value, "tutor").text if isinstance(value, str) else value


def in_code_fence(value: object) -> object:
    """Fences code, also where it comes as a list of lines or with its line breaks escaped twice."""
    if isinstance(value, list):
        value = "\n".join(map(str, value))
    if isinstance(value, str) and "\n" not in value and "\\n" in value:
        value = value.replace("\\n", "\n").replace("\\t", "\t")
    if not isinstance(value, str):
        return value
    if not (code := unfenced(value)).strip():
        raise ValueError("it holds no code")
    return f"```python\n{code}\n```"


def _joined(value: object) -> object:
    """Joins names that come as a list."""
    return ", ".join(map(str, value)) if isinstance(value, list) else value


_MOST_STEPS = 10_000
# A model without an end to its list would fill its whole answer with it.
_MOST_CLAIMS = 8


def says_nothing(text: str) -> bool:
    return text.strip(" .-_").lower() in _WORDS["nothing"]


def _none_if_empty(value: object) -> object:
    return None if isinstance(value, str) and (not value.strip() or says_nothing(value)) else value


def _possible(number: int) -> int:
    if abs(number) > _MOST_STEPS:
        raise ValueError(f"there is no step {number}")
    return number


# A model that writes digits without end means no step, and records have 32 bits for one.
PossibleStep = AfterValidator(_possible)


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


def _text_of(value: object) -> object:
    """Accepts a number for a text that holds one, and drops a part of the form that was copied."""
    if isinstance(value, bool) or value is None or (isinstance(value, str) and is_placeholder(value)):
        return ""
    return f"{value:.15g}" if isinstance(value, int | float) else value


def _claims(value: object) -> object:
    """Accepts one claim without the list around it, and drops those without a value and those beyond the limit."""
    listed = [value] if isinstance(value, dict) else value
    if not isinstance(listed, list):
        return [] if value is None or (isinstance(value, str) and says_nothing(value)) else value
    return [one for one in listed if not (isinstance(one, dict) and _is_empty(one))][:_MOST_CLAIMS]


def _is_empty(claim: dict[str, Any]) -> bool:
    value = next((claim[key] for key in claim if key.casefold() == "value"), None)
    if not isinstance(value, str):
        return value is None
    return not value.strip() or says_nothing(value) or is_placeholder(value)


# A message alone may hold braces, of LaTeX for example.
_MESSAGE_FIELD = re.compile(r'[{,]\s*["\'*_]*message["\'*_]*\s*:', re.IGNORECASE)


class PlainAnswer(Answer):
    """An answer in plain text, which no schema constrains."""

    @classmethod
    def json_schema(cls) -> str:
        return ""


# A weak model talks on in any string that a grammar leaves open, up to its limit of tokens. Where no grammar holds it,
# a longer text is read too. A message may quote a problem.
_SHORT: JsonDict = {"maxLength": 60}
MESSAGE: JsonDict = {"maxLength": 2000}
# It copies the form, too, `<number>`, which has no digit.
_VALUE: JsonDict = {**_SHORT, "pattern": r"^[^<>{}]*\d[^<>{}]*$"}


class StatedClaim(Fields):
    """A result that a message gives, as its speaker says beside it."""

    quantity: Annotated[str, BeforeValidator(_text_of)] = Field(default="", alias="Quantity", json_schema_extra=_SHORT)
    value: Annotated[Text, BeforeValidator(_text_of)] = Field(alias="Value", json_schema_extra=_VALUE)
    unit: Annotated[str, BeforeValidator(_text_of)] = Field(default="", alias="Unit", json_schema_extra=_SHORT)


_Claims = Annotated[list[StatedClaim], Field(max_length=_MOST_CLAIMS)]
StatedClaims = Annotated[_Claims | None, BeforeValidator(_claims)]


def _claims_or_none(value: object) -> object:
    return None if value is None else _claims(value)


class ClaimsRead(Answer):
    """The claims of somebody else's message; None if that cannot be told."""

    claims: Annotated[_Claims | None, BeforeValidator(_claims_or_none)] = Field(alias="Claims")


class StudentMessage(Answer):
    """A student's message, and what it claims."""

    text: Text = Field(alias="Message", json_schema_extra=MESSAGE)
    # None if the speaker wrote the message alone.
    claims: StatedClaims = Field(default=None, alias="Claims")
    speaker: ClassVar[str] = "student"

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        if _MESSAGE_FIELD.search(text):
            answer, strict = super().read(text)
            told, claims = answer.text, answer.claims
        else:
            told, claims, strict = text, None, True
        spoken = cleaned(told, cls.speaker).text
        if not spoken or is_only_a_name(spoken):
            raise Unreadable("the message is empty")
        if is_refusal(spoken):
            raise Refusal(spoken)
        if other := second_speaker(spoken, cls.speaker):
            raise Unreadable(f"the message also speaks for another ({other}); write your own words only")
        if has_alternatives(told):
            raise Unreadable("it offers several messages; write one")
        if is_about_the_message(spoken) or is_placeholder(spoken):
            raise Unreadable("it is about the message; write the message itself")
        answer = cls.model_validate({"text": spoken} if claims is None else {"text": spoken, "claims": claims})
        return answer, strict and spoken == told

    @staticmethod
    def text_so_far(raw: str) -> str:
        return partial_field(raw, "Message") if raw.lstrip().startswith("{") else raw


class TutorMessage(StudentMessage):
    """A tutor's message, and the results that it tells."""

    claims: StatedClaims = Field(default=None, alias="Results Told")
    speaker: ClassVar[str] = "tutor"


class PlainTutorMessage(TutorMessage):
    """A tutor's message in plain text, which no schema constrains."""

    @classmethod
    def json_schema(cls) -> str:
        return ""


class Decision(Answer):
    model_config = ConfigDict(
        json_schema_extra=any_of(
            {"Use Python": {"const": "n"}, "Description": None},
            {"Use Python": {"const": "y"}, "Description": {"type": "string", "minLength": 1}},
        )
    )

    use_python: Annotated[Literal["y", "n"], BeforeValidator(yes_or_no)] = Field(alias="Use Python")
    description: Annotated[Text | None, BeforeValidator(_none_if_empty)] = Field(default=None, alias="Description")

    @model_validator(mode="before")
    @classmethod
    def _without_needless_description(cls, data: Any) -> Any:
        """Drops a description from an answer that wants no calculation, unless it describes one."""
        if not isinstance(data, dict) or yes_or_no(data.get("Use Python")) != "n":
            return data
        described = data.get("Description")
        if isinstance(described, str) and _NUMBER.search(described):
            raise ValueError('"Use Python" is "n", but "Description" describes a calculation')
        return {name: value for name, value in data.items() if name != "Description"}

    @model_validator(mode="after")
    def _described(self) -> Self:
        if self.use_python == "y" and self.description is None:
            raise ValueError('"Use Python" is "y", so "Description" must say what to calculate')
        return self


_CODE_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_VARIABLE = re.compile(r"^[*_# -]*result variables?[*_]*:[*_ ]*`?(\w+)`?\W*$", re.IGNORECASE | re.MULTILINE)


class _Program(Fields):
    fenced: Annotated[Text, BeforeValidator(in_code_fence)] = Field(alias="Python Code")
    result_variable: Annotated[Text, BeforeValidator(_joined)] = Field(alias="Result Variable")


class Program(Answer):
    code_fields = frozenset({"Python Code"})

    python: _Program = Field(alias="Python")

    @model_validator(mode="before")
    @classmethod
    def _with_outer_object(cls, data: Any) -> Any:
        """Accepts the fields without the object around them."""
        return {"Python": data} if isinstance(data, dict) and "Python" not in data else data

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        try:
            return super().read(text)
        except Unreadable:
            # A block of code, and the variable named below it.
            block, variable = _CODE_BLOCK.findall(text), _VARIABLE.findall(text)
            if len(block) != 1 or len(variable) != 1:
                raise
            return cls.model_validate({"Python Code": block[0], "Result Variable": variable[0]}), False

    @property
    def code(self) -> str:
        return unfenced(self.python.fenced)

    @property
    def result_variables(self) -> list[str]:
        return names(self.python.result_variable)
