"""The shapes that the recipe's prompts ask for, and the slips of real models that are accepted for them."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from services.recipes.soliloquy.codes import ACTIONS
from services.runtime.answers import Answer, Unreadable
from services.runtime.code import names, unfenced

_Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
# Enough for a dozen steps in words; every event of a conversation carries it.
_Solution = Annotated[str, StringConstraints(min_length=1, max_length=8000, strip_whitespace=True)]
_SPEAKER = re.compile(r"^\s*(student|tutor|tutorbot)\s*:\s*", re.IGNORECASE)
_OTHER_SPEAKER = re.compile(r"^\s*(tutor|tutorbot)\s*:", re.IGNORECASE | re.MULTILINE)


# Words by which a sentence given in place of a code is recognised; the first that occurs decides.
_EVALUATION_WORDS = {
    "partial": "c",
    "incorrect": "a",
    "wrong": "a",
    "correct": "b",
    "right": "b",
    "unclear": "d",
    "ambiguous": "d",
    "short": "d",
    "topic": "e",
    "inquir": "f",
    "question": "f",
    "n/a": "g",
}
_STATE_WORDS = {
    "all": "t",
    "problem finished": "t",
    "no next": "t",
    "next": "r",
    "finished": "r",
    "being": "q",
    "current": "q",
    "n/a": "p",
}


def _code(value: object) -> object:
    """A label reduced to its code: "g) N/A" and "b: the answer is right" are "g" and "b"."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and (code := re.match(r"\W*(?:(\d+)|([A-Za-z])\s*(?:[).:,;–-]|$))", value)):
        return (code[1] or code[2]).lower()
    return value


def _code_or_sentence(words: dict[str, str]) -> Callable[[object], object]:
    def read(value: object) -> object:
        code = _code(value)
        if not isinstance(code, str) or len(code) == 1:
            return code
        return next((meant for word, meant in words.items() if word in code.lower()), code)

    return read


def _yes_or_no(value: object) -> object:
    if isinstance(value, bool):
        return "y" if value else "n"
    return value.strip().lower()[:1] if isinstance(value, str) else value


def _first_number(value: object) -> object:
    """The step that "Step 2", "2 & 3" or "4b" begins with."""
    if isinstance(value, str) and (number := re.search(r"\d+", value)):
        return number[0]
    return str(value) if isinstance(value, int) else value


def _without_speaker(value: object) -> object:
    return _SPEAKER.sub("", value).strip() if isinstance(value, str) else value


def _fenced(value: object) -> object:
    return f"```python\n{unfenced(value)}\n```" if isinstance(value, str) else value


def _one_text(value: object) -> object:
    """Steps that come as a list, or each under its number, as the one text that was asked for."""
    if isinstance(value, dict):
        value = [f"{key}) {step}" for key, step in value.items()]
    return "\n".join(map(str, value)) if isinstance(value, list) else value


def _either(*kinds: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Of fields that depend on each other: each kind of answer by what differs in it, None for a field it lacks.

    What a validator refuses afterwards, a model that is held to the schema does not write in the first place.
    """

    def write(schema: dict[str, Any]) -> None:
        fields = schema.pop("properties")
        del schema["required"]
        schema["anyOf"] = [_exactly({name: kind.get(name, field) for name, field in fields.items()}) for kind in kinds]

    return write


def _exactly(fields: dict[str, Any]) -> dict[str, Any]:
    present = {name: field for name, field in fields.items() if field is not None}
    return {"type": "object", "properties": present, "required": list(present), "additionalProperties": False}


class Enriched(Answer):
    detailed_solution: Annotated[_Solution, BeforeValidator(_one_text)] = Field(alias="Detailed Solution")
    outline: Annotated[_Solution, BeforeValidator(_one_text)] = Field(alias="Solution Outline")


class Spoken(Answer):
    """A student's message: plain text."""

    text: _Text

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        spoken = _SPEAKER.sub("", text).strip().strip('"')
        if not spoken:
            raise Unreadable("the message is empty")
        if _OTHER_SPEAKER.search(spoken):
            raise Unreadable("the message also speaks for the tutor; write the student's words only")
        return cls(text=spoken), spoken == text

    @classmethod
    def json_schema(cls) -> str:
        return ""


class Decision(Answer):
    model_config = ConfigDict(
        json_schema_extra=_either(
            {"Use Python": {"const": "n"}, "Description": None},
            {"Use Python": {"const": "y"}, "Description": {"type": "string", "minLength": 1}},
        )
    )

    use_python: Annotated[Literal["y", "n"], BeforeValidator(_yes_or_no)] = Field(alias="Use Python")
    description: _Text | None = Field(default=None, alias="Description")

    @model_validator(mode="after")
    def _described(self) -> Self:
        if self.use_python == "y" and self.description is None:
            raise ValueError('"Use Python" is "y", so "Description" must say what to calculate')
        return self


class _Program(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, json_schema_extra={"additionalProperties": False})

    fenced: Annotated[_Text, BeforeValidator(_fenced)] = Field(alias="Python Code")
    result_variable: _Text = Field(alias="Result Variable")


class Program(Answer):
    python: _Program = Field(alias="Python")

    @property
    def code(self) -> str:
        return unfenced(self.python.fenced)

    @property
    def result_variables(self) -> list[str]:
        return names(self.python.result_variable)


class Reply(Answer):
    model_config = ConfigDict(
        json_schema_extra=_either(
            *(
                {
                    "Evaluation of Student Response": {"const": evaluation},
                    "Action Based on Evaluation": {"enum": [str(action) for action in sorted(actions)]},
                }
                for evaluation, actions in ACTIONS.items()
            )
        )
    )

    thoughts: _Text = Field(alias="Thoughts of Tutorbot")
    evaluation: Annotated[
        Literal["a", "b", "c", "d", "e", "f", "g"], BeforeValidator(_code_or_sentence(_EVALUATION_WORDS))
    ] = Field(alias="Evaluation of Student Response")
    # The pattern stands first: only there does it get into the schema that a model is held to.
    action: Annotated[str, StringConstraints(pattern=r"^([1-9]|1[0-2])$"), BeforeValidator(_code)] = Field(
        alias="Action Based on Evaluation",
        validation_alias=AliasChoices("Action Based on Evaluation", "Action Based on the Evaluation"),
    )
    step: Annotated[str, StringConstraints(pattern=r"^\d+$"), BeforeValidator(_first_number)] = Field(
        alias="Step Number"
    )
    state: Annotated[Literal["p", "q", "r", "t"], BeforeValidator(_code_or_sentence(_STATE_WORDS))] = Field(
        alias="Step State"
    )
    text: Annotated[_Text, BeforeValidator(_without_speaker)] = Field(alias="Tutorbot Response")

    @model_validator(mode="after")
    def _fitting_action(self) -> Self:
        allowed = ACTIONS[self.evaluation]
        if int(self.action) not in allowed:
            numbers = " or ".join(str(action) for action in sorted(allowed))
            raise ValueError(f'action {self.action} does not belong to evaluation "{self.evaluation}"; use {numbers}')
        return self
