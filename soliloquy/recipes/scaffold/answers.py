"""Defines the answers of this recipe's prompts."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from soliloquy.recipes.answers import (
    PlainAnswer,
    PlainTutorMessage,
    PossibleStep,
    StatedClaim,
    StatedClaims,
    Text,
)
from soliloquy.recipes.scaffold.labels_pb2 import Plan, SubQuestion
from soliloquy.recipes.scaffold.states import STATES
from soliloquy.runtime.answers import Answer, Fields, Unreadable
from soliloquy.runtime.tolerant_json import objects_in

_CLAIMS: TypeAdapter[list[StatedClaim] | None] = TypeAdapter(StatedClaims)
_PARTS = re.compile(
    r"\[analysis and decision\](?P<analysis>.*?)\[learner state\](?P<state>.*?)\[reply\](?P<text>.*?)"
    r"(?:\[results told\](?P<told>.*))?\Z",
    re.DOTALL | re.IGNORECASE,
)
_NAME = re.compile(r"[a-z]+")
_LAYOUT = re.compile(
    r"\[analysis\](?P<analysis>.*?)\[sub_questions\](?P<questions>.*?)(?:^Final answer:|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_LAID_OUT = re.compile(
    r"Question:\s*(.*?)\s*Expected Answer:\s*(.*?)\s*(?=Sub Question \d+\s*:|\Z)", re.DOTALL | re.IGNORECASE
)


def _state_name(value: str) -> str:
    """Extracts the name from "**Correct**."."""
    found = _NAME.search(value.lower())
    return found[0] if found else value


class CalculationRequest(Answer):
    # The schema, including title and description, is part of what a model is asked.
    model_config = ConfigDict(
        title="Described",
        json_schema_extra={"additionalProperties": False, "description": "What a program is to be written for."},
    )

    description: Text = Field(alias="Description")


# A heading that the model may still be writing.
_UNFINISHED = re.compile(r"\[[^\]\n]*\Z")


class Tutored(PlainAnswer):
    """The tutor's assessment of a message, its reply and what that tells: four parts, each under a heading."""

    analysis: Text
    state: Annotated[
        Literal["start", "correct", "comprehension", "incorrect", "confusion", "question", "irrelevant", "end"],
        BeforeValidator(_state_name),
    ]
    text: Text
    # None if the tutor does not say which results it tells.
    claims: StatedClaims = None

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        parts = _PARTS.search(text)
        if parts is None:
            raise Unreadable("it needs [Analysis and Decision], [Learner State] and [Reply], in this order")
        message, _ = PlainTutorMessage.read(parts["text"].strip())
        told = None if parts["told"] is None else _listed(parts["told"])
        try:
            answer = cls.model_validate({**parts.groupdict(), "text": message.text, "claims": told})
        except ValidationError as error:
            raise Unreadable(f"each part needs a text, and the state one of {', '.join(STATES)}") from error
        return answer, text == tutored_text(answer.analysis, answer.state, answer.text, answer.claims)

    @staticmethod
    def reply_so_far(raw: str) -> str:
        parts = _PARTS.search(raw)
        return _UNFINISHED.sub("", parts["text"]) if parts else ""


def _listed(told: str) -> list[StatedClaim]:
    """Reads the list of results; raises Unreadable for one that holds something else."""
    found = list(objects_in(told))
    if not found and re.search(r"\d", told):
        raise Unreadable("[Results Told] is no list of objects with Quantity, Value and Unit")
    try:
        return _CLAIMS.validate_python(found) or []
    except ValidationError as error:
        raise Unreadable(f"[Results Told]: {error.errors()[0]['msg']}") from error


def tutored_text(analysis: str, state: str, text: str, claims: Sequence[StatedClaim] | None = None) -> str:
    """Writes the parts as a model is to write them."""
    parts = f"[Analysis and Decision] {analysis}\n[Learner State] {state.capitalize()}\n[Reply] {text}"
    if claims is None:
        return parts
    told = [one.model_dump(by_alias=True) for one in claims]
    return f"{parts}\n[Results Told] {json.dumps(told, ensure_ascii=False)}"


def _as_list(value: object) -> object:
    """Turns a single step into a list."""
    return value if isinstance(value, list) else [value]


def _decision(value: object) -> object:
    """Accepts "ACCEPT", "accepted" and "Rejected."."""
    word = value.strip().lower() if isinstance(value, str) else value
    decisions = ("accept", "reject", "keep", "drop")
    return next((known for known in decisions if isinstance(word, str) and word.startswith(known)), word)


class _SubQuestion(Fields):
    question: Text = Field(alias="Question")
    answer: Text = Field(alias="Expected Answer")
    steps: Annotated[list[Annotated[int, PossibleStep]], Field(min_length=1, alias="Steps"), BeforeValidator(_as_list)]


class PlanAnswer(Answer):
    # The title is part of the schema that a model receives.
    model_config = ConfigDict(title="Planned")

    analysis: Text = Field(alias="Analysis")
    questions: list[_SubQuestion] = Field(alias="Sub-Questions")

    @property
    def plan(self) -> Plan:
        questions = [SubQuestion(question=one.question, answer=one.answer, steps=one.steps) for one in self.questions]
        return Plan(analysis=self.analysis, questions=questions)


class UnaidedPlan(PlainAnswer):
    """A plan in the paper's layout, written from the problem alone by a model that has learned to plan."""

    analysis: Text
    questions: list[tuple[Text, Text]]

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        found = _LAYOUT.search(text)
        questions = _LAID_OUT.findall(found["questions"]) if found else []
        if not found or not questions:
            raise Unreadable("it needs [analysis] and [sub_questions], each with its Question and Expected Answer")
        try:
            own = cls(analysis=found["analysis"], questions=questions)
        except ValidationError as error:
            raise Unreadable("the analysis, each question and each expected answer need a text") from error
        return own, text == "\n".join(plan_lines(own.plan))

    @property
    def plan(self) -> Plan:
        """Such a plan names no steps, so sub-question N is assumed to cover step N."""
        rows = enumerate(self.questions, start=1)
        questions = [SubQuestion(question=question, answer=answer, steps=[at]) for at, (question, answer) in rows]
        return Plan(analysis=self.analysis, questions=questions)


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yields the lines of a plan in the paper's layout."""
    yield f"[analysis] {plan.analysis}"
    yield "[sub_questions]"
    for number, one in enumerate(plan.questions, start=1):
        yield f"Sub Question {number}:"
        yield f"Question: {one.question}"
        yield f"Expected Answer: {one.answer}"
    yield f"Final answer: {plan.questions[-1].answer}"


# Both verdicts ask for the reason first: what is written down decides.
class SessionVerdict(Answer):
    model_config = ConfigDict(title="Verdict")

    reason: Text = Field(alias="Reason")
    decision: Annotated[Literal["keep", "drop"], BeforeValidator(_decision)] = Field(alias="Decision")


class _WorkedAnswer(Fields):
    number: int = Field(alias="Sub-Question")
    calculation: str = Field(alias="Calculation")


class PlanVerdict(Answer):
    model_config = ConfigDict(title="Verdict")

    # The calculations that expected answers in words say.
    worked: list[_WorkedAnswer] = Field([], alias="Worked")
    reason: Text = Field(alias="Reason")
    decision: Annotated[Literal["accept", "reject"], BeforeValidator(_decision)] = Field(alias="Decision")
