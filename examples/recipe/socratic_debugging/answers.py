"""The answer to the tutoring prompt."""

from typing import Literal

from pydantic import Field

from soliloquy.recipes.answers import Text
from soliloquy.runtime.answers import Answer, partial_field


class Guidance(Answer):
    thoughts: Text = Field(alias="Thoughts")
    evaluation: Literal["a", "b", "g"] = Field(alias="Evaluation")
    points_at: Literal["output", "line", "value", "purpose"] = Field(alias="Points At")
    text: Text = Field(alias="Text")

    @staticmethod
    def text_so_far(raw: str) -> str:
        return partial_field(raw, "Text")
