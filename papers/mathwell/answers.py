"""The answers to the prompts: a problem with the function that solves it, a judgement of one, and a reading."""

import math
import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from soliloquy.recipes.answers import Text, in_code_fence, yes_or_no
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.code import unfenced
from soliloquy.truth.numbers import numbers_in

_Letter = Annotated[Literal["y", "n"], BeforeValidator(yes_or_no)]
# "Nothing is missing.", "None", and an empty field; not "No price is given".
_NOTHING = re.compile(r"\W*(?:(?:nothing|none|no other)\b|(?:no|n/a|null)?\W*$)", re.IGNORECASE)


def _in_words(value: object) -> str:
    return "none" if value is None else "; ".join(map(str, value)) if isinstance(value, list) else str(value)


_Finding = Annotated[str, BeforeValidator(_in_words)]


class WrittenProblem(Answer):
    # Part of the schema that the model sees.
    model_config = ConfigDict(title="Written")
    code_fields = frozenset({"Python Function"})

    question: Text = Field(alias="Problem")
    function: Annotated[Text, BeforeValidator(in_code_fence)] = Field(alias="Python Function")

    @property
    def code(self) -> str:
        return unfenced(self.function)


class Judgement(Answer):
    why_solvable: Text = Field(alias="Why Solvable")
    solvable: _Letter = Field(alias="Solvable")
    why_accurate: Text = Field(alias="Why Accurate")
    accurate: _Letter = Field(alias="Accurate")
    why_appropriate: Text = Field(alias="Why Appropriate")
    appropriate: _Letter = Field(alias="Appropriate")


class JudgementWithTopic(Judgement):
    """A judgement of a problem that was to be about a topic."""

    why_topic: Text = Field(alias="Why On Topic")
    topic: _Letter = Field(alias="On Topic")


class Reading(Answer):
    """The questions that a problem's text leaves open."""

    missing: _Finding = Field(alias="Missing")
    other_reading: _Finding = Field(alias="Other Reading")
    other_answer: _Finding = Field(alias="Other Answer")

    @property
    def misses_something(self) -> bool:
        return not _NOTHING.match(self.missing)

    def has_another_answer(self, answer: float | None) -> bool:
        """Whether there is a second reading, and it comes to another number than `answer`."""
        found = numbers_in(self.other_answer)
        is_same = answer is not None and any(math.isclose(one.value, answer, rel_tol=1e-3) for one in found)
        return not _NOTHING.match(self.other_reading) and bool(found) and not is_same
