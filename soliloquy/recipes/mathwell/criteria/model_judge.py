"""The opinion of a language model on a word problem."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from soliloquy.recipes.answers import Text, yes_or_no
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, Opinion, WordProblem
from soliloquy.recipes.mathwell.prompting import judging
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.ask import Ask

JUDGE = "model"


_Letter = Annotated[Literal["y", "n"], BeforeValidator(yes_or_no)]


class Judgement(Answer):
    solvable: _Letter = Field(alias="Solvable")
    why_solvable: Text = Field(alias="Why Solvable")
    accurate: _Letter = Field(alias="Accurate")
    why_accurate: Text = Field(alias="Why Accurate")
    appropriate: _Letter = Field(alias="Appropriate")
    why_appropriate: Text = Field(alias="Why Appropriate")

    @property
    def opinions(self) -> list[Opinion]:
        said = {
            Criterion.SOLVABLE: (self.solvable, self.why_solvable),
            Criterion.ACCURATE: (self.accurate, self.why_accurate),
            Criterion.APPROPRIATE: (self.appropriate, self.why_appropriate),
        }
        return [
            Opinion(criterion=criterion, meets=letter == "y", judge=JUDGE, because=because)
            for criterion, (letter, because) in said.items()
        ]


async def opinions(problem: WordProblem, ask: Ask) -> list[Opinion]:
    return (await ask(judging(problem), Judgement)).opinions
