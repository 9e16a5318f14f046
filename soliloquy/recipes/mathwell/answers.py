"""The answer to the writing prompt: a problem and the function that solves it."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field

from soliloquy.recipes.answers import Text, in_code_fence
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.code import unfenced


class WrittenProblem(Answer):
    # Part of the schema that the model sees.
    model_config = ConfigDict(title="Written")

    question: Text = Field(alias="Problem")
    function: Annotated[Text, BeforeValidator(in_code_fence)] = Field(alias="Python Function")

    @property
    def code(self) -> str:
        return unfenced(self.function)
