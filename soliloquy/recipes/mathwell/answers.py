"""The answers to the prompts: a problem with the function that solves it, and a judgement of one."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from soliloquy.recipes.answers import Text, in_code_fence, yes_or_no
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.code import unfenced

_Letter = Annotated[Literal["y", "n"], BeforeValidator(yes_or_no)]


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
    solvable: _Letter = Field(alias="Solvable")
    why_solvable: Text = Field(alias="Why Solvable")
    accurate: _Letter = Field(alias="Accurate")
    why_accurate: Text = Field(alias="Why Accurate")
    appropriate: _Letter = Field(alias="Appropriate")
    why_appropriate: Text = Field(alias="Why Appropriate")
