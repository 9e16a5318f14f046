"""What the planner and its verifier answer."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from soliloquy.v1.conversation_pb2 import Plan, SubQuestion

from services.recipes.answers import Text
from services.runtime.answers import Answer


def _listed(value: object) -> object:
    """A single step is a list of one."""
    return value if isinstance(value, list) else [value]


def _accepting(value: object) -> object:
    """ "ACCEPT", "accepted" and "Rejected." as what they mean."""
    word = value.strip().lower() if isinstance(value, str) else value
    return next((known for known in ("accept", "reject") if isinstance(word, str) and word.startswith(known)), word)


class _SubQuestion(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, json_schema_extra={"additionalProperties": False})

    question: Text = Field(alias="Question")
    answer: Text = Field(alias="Expected Answer")
    steps: Annotated[list[int], Field(min_length=1, alias="Steps"), BeforeValidator(_listed)]


class Planned(Answer):
    analysis: Text = Field(alias="Analysis")
    questions: list[_SubQuestion] = Field(alias="Sub-Questions")

    @property
    def plan(self) -> Plan:
        questions = [SubQuestion(question=one.question, answer=one.answer, steps=one.steps) for one in self.questions]
        return Plan(analysis=self.analysis, questions=questions)


class Verdict(Answer):
    """The reason first: what is written down decides."""

    reason: Text = Field(alias="Reason")
    decision: Annotated[Literal["accept", "reject"], BeforeValidator(_accepting)] = Field(alias="Decision")
