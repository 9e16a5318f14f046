"""The answers to the recipe's prompts, besides those that all recipes share."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from soliloquy.recipes.answers import PlainAnswer, Text, any_of, yes_or_no
from soliloquy.recipes.mathdial.claims import final_answer
from soliloquy.recipes.mathdial.moves import FAREWELL, INTENTS, belongs
from soliloquy.runtime.answers import Answer, Fields

Category = Literal["went_on", "quantity", "conversion", "calculation", "fact", "question", "other"]
# A model without an end to its list would fill its whole answer with it.
_MOST_PUPILS = 6


class SampledSolution(PlainAnswer):
    """A sampled solution; any text is accepted, so that the model is never asked again."""

    solution: str

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        return cls(solution=text.strip()), final_answer(text) is not None


def _plain(value: object) -> object:
    """Returns "Seek self-correction" as the name seek_self_correction."""
    return "_".join(value.replace("-", " ").replace("/", " ").split()).lower() if isinstance(value, str) else value


def _joined(value: object) -> object:
    """Accepts a solution as a list of its lines."""
    return "\n".join(map(str, value)) if isinstance(value, list) else value


class PlausibleMistake(Fields):
    """A wrong solution that the model was asked for, and what the pupil thinks who hands it in."""

    belief: Text = Field(alias="Belief")
    solution: Annotated[Text, BeforeValidator(_joined)] = Field(alias="Solution")


class PlausibleMistakes(Answer):
    mistakes: list[PlausibleMistake] = Field(alias="Pupils", max_length=_MOST_PUPILS)


class ConfusionDescription(Answer):
    confusion: Text = Field(alias="Confusion")
    line: Annotated[int, Field(ge=1, alias="First Wrong Line")]
    category: Annotated[Category, BeforeValidator(_plain)] = Field(alias="Error Category")
    belief: Text = Field(alias="Belief")


class MoveChoice(Answer):
    """The move that the next message is to make."""

    model_config = ConfigDict(
        title="Choice",
        json_schema_extra=any_of(
            *(
                {"Move": {"const": move}, "Intent": {"enum": list(intents)}, "Solved": {"const": "n"}}
                for move, intents in INTENTS.items()
            ),
            {
                "Evaluation": {"const": "correct"},
                "Move": {"const": FAREWELL[0]},
                "Intent": {"const": FAREWELL[1]},
                "Solved": {"const": "y"},
            },
        ),
    )

    thoughts: Text = Field(alias="Thoughts")
    evaluation: Annotated[Literal["incorrect", "correct", "partial", "unclear"], BeforeValidator(_plain)] = Field(
        alias="Evaluation"
    )
    move: Annotated[Literal["focus", "probing", "telling", "generic"], BeforeValidator(_plain)] = Field(alias="Move")
    intent: Annotated[str, StringConstraints(min_length=1), BeforeValidator(_plain)] = Field(alias="Intent")
    solved: Annotated[Literal["y", "n"], BeforeValidator(yes_or_no)] = Field(alias="Solved")

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if not belongs(self.move, self.intent):
            known = ", ".join(INTENTS[self.move])
            raise ValueError(f'intent "{self.intent}" does not belong to the move "{self.move}"; use one of {known}')
        if self.solved == "y" and (self.evaluation != "correct" or (self.move, self.intent) != FAREWELL):
            move, intent = FAREWELL
            raise ValueError(f'with "Solved": "y" the evaluation is "correct" and the move {move}, {intent}')
        return self
