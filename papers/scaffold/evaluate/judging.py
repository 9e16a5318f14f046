"""Has a model judge what no rule can decide: one rubric per dimension, one score with its reason."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from soliloquy.recipes.answers import Text
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy_papers.scaffold.evaluate import PROTOCOL
from soliloquy_papers.scaffold.evaluate.dialogues import DialogueRound

_SLOTS = {"question", "solution", "dialogue", "reply"}
TEMPLATES = Templates(
    Path(__file__).with_name("prompts"),
    {
        "question_quality": _SLOTS,
        "guidance_quality": _SLOTS,
        "understanding": _SLOTS | {"shown"},
        "feedback": _SLOTS | {"shown"},
    },
    recipe="scaffold",
)


class _Score(Answer):
    """The reason first."""

    reason: Text = Field(alias="Reason")


class _OfThree(_Score):
    score: Annotated[int, Field(ge=1, le=3, alias="Score")]


class _OfTwo(_Score):
    score: Annotated[int, Field(ge=0, le=1, alias="Score")]


class _InHalves(_Score):
    score: Annotated[float, Field(ge=0, le=1, multiple_of=0.5, alias="Score")]


# The answer type of each rubric and its best score.
SCORES: Mapping[str, tuple[type[_OfThree | _OfTwo | _InHalves], int]] = {
    "question_quality": (_OfThree, 3),
    "guidance_quality": (_OfTwo, 1),
    "understanding": (_InHalves, 1),
    "feedback": (_OfTwo, 1),
}


async def judge_reply(judge: Model, rubric: str, problem: Problem, rounds: Sequence[DialogueRound]) -> float | None:
    """Scores the tutor's last reply from 0 to 1; None if the judge's answers stay unusable.

    The seeds are fixed, so a deterministic model repeats its judgements.
    """
    *before, last = rounds
    slots = {
        "question": problem.question,
        "solution": problem.solution,
        "dialogue": "\n".join([*(one.lines for one in before), f"Student: {last.student}"]),
        "reply": last.tutor,
        "shown": PROTOCOL["shown"].get(last.state, ""),
    }
    ask = Ask(model=judge, role="planner", origin=(rubric, *slots.values()))
    answer, best = SCORES[rubric]
    try:
        return (await ask(TEMPLATES.own.prompt(rubric, **slots), answer)).score / best
    except Unusable:
        return None
