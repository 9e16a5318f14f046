"""Defines the answers that this recipe asks for, and accepts the slips that real models make in them."""

import re
from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from soliloquy.recipes.answers import MESSAGE, StatedClaims, Text, any_of, says_nothing, spoken_by_tutor
from soliloquy.recipes.soliloquy.codes import ACTIONS
from soliloquy.runtime.answers import Answer, partial_field

# Leaves room for a dozen steps in words; every event of a conversation carries the text.
_Solution = Annotated[str, StringConstraints(min_length=1, max_length=8000, strip_whitespace=True)]


# Maps words of a sentence that was given in place of a code to the code; the first match decides.
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


_CODE = re.compile(r"\W*(?:action|option|code)?\s*(?:(\d+)|([A-Za-z])\s*(?:[).:,;–-]|$))", re.IGNORECASE)
_SEVERAL_CODES = re.compile(r"\W*\w{1,2}\s*(?:,|/|&|and|or)\s*\w{1,2}\W*$", re.IGNORECASE)


def _code(value: object) -> object:
    """Reduces a label to its code: "g) N/A" and "b: the answer is right" become "g" and "b"."""
    if isinstance(value, int | float) and value == int(value):
        return str(int(value))
    if isinstance(value, str) and (code := _CODE.match(value)) and not _SEVERAL_CODES.match(value):
        return (code[1] or code[2]).lower()
    return value


def _code_or_sentence(words: dict[str, str]) -> Callable[[object], object]:
    def read(value: object) -> object:
        code = _code(value)
        if not isinstance(code, str) or len(code) == 1:
            return code
        return next((meant for word, meant in words.items() if word in code.lower()), code)

    return read


def _first_number(value: object) -> object:
    """Extracts the first step number of "Step 2", "2 & 3" or "4b"; "N/A" names none and becomes 0."""
    if isinstance(value, str):
        number = re.search(r"\d+", "0" if says_nothing(value) else value)
        return number[0] if number else value
    if value is None or value != value:
        return "0"
    return str(int(value)) if isinstance(value, int | float) else value


def _one_text(value: object) -> object:
    """Joins steps that come as a list or as an object into one text."""
    if isinstance(value, dict):
        value = [f"{key}) {step}" for key, step in value.items()]
    return "\n".join(map(str, value)) if isinstance(value, list) else value


class Enriched(Answer):
    detailed_solution: Annotated[_Solution, BeforeValidator(_one_text)] = Field(alias="Detailed Solution")
    outline: Annotated[_Solution, BeforeValidator(_one_text)] = Field(alias="Solution Outline")


class Reply(Answer):
    model_config = ConfigDict(
        json_schema_extra=any_of(
            *(
                {
                    "Evaluation of Student Response": {"const": evaluation},
                    "Action Based on Evaluation": {"enum": [str(action) for action in sorted(actions)]},
                }
                for evaluation, actions in ACTIONS.items()
            )
        )
    )

    thoughts: Text = Field(alias="Thoughts of Tutorbot", json_schema_extra=MESSAGE)
    evaluation: Annotated[
        Literal["a", "b", "c", "d", "e", "f", "g"], BeforeValidator(_code_or_sentence(_EVALUATION_WORDS))
    ] = Field(alias="Evaluation of Student Response")
    # The pattern comes first because only then does it become part of the schema.
    action: Annotated[str, StringConstraints(pattern=r"^([1-9]|1[0-2])$"), BeforeValidator(_code)] = Field(
        alias="Action Based on Evaluation",
        validation_alias=AliasChoices("Action Based on Evaluation", "Action Based on the Evaluation"),
    )
    step: Annotated[str, StringConstraints(pattern=r"^\d{1,4}$"), BeforeValidator(_first_number)] = Field(
        alias="Step Number"
    )
    state: Annotated[Literal["p", "q", "r", "t"], BeforeValidator(_code_or_sentence(_STATE_WORDS))] = Field(
        alias="Step State"
    )
    text: Annotated[Text, BeforeValidator(spoken_by_tutor)] = Field(
        alias="Tutorbot Response", json_schema_extra=MESSAGE
    )
    # None if the tutor does not say which results it tells.
    claims: StatedClaims = Field(default=None, alias="Results Told")

    @staticmethod
    def text_so_far(raw: str) -> str:
        return str(spoken_by_tutor(partial_field(raw, "Tutorbot Response")))

    @model_validator(mode="after")
    def _fitting_action(self) -> Self:
        allowed = ACTIONS[self.evaluation]
        if int(self.action) not in allowed:
            numbers = " or ".join(str(action) for action in sorted(allowed))
            raise ValueError(f'action {self.action} does not belong to evaluation "{self.evaluation}"; use {numbers}')
        return self
