"""A model as the judge of what no rule can decide: one rubric a dimension, one score with its reason."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field
from soliloquy.v1.conversation_pb2 import ModelCall, Problem

from services.recipes.answers import Text
from services.recipes.templates import Templates
from services.runtime.answers import Answer, Unreadable
from services.runtime.ask import Ask, Unusable
from services.runtime.model import Model
from training.evaluation.scaffold.dialogues import Round
from training.evaluation.scaffold.learner import PROTOCOL

_SLOTS = {"question", "solution", "dialogue", "reply"}
_RUBRICS = {
    "question_quality": _SLOTS,
    "guidance_quality": _SLOTS,
    "understanding": _SLOTS | {"shown"},
    "feedback": _SLOTS | {"shown"},
}
TEMPLATES = Templates(Path(__file__).with_name("prompts"), _RUBRICS)
# The scores that a rubric knows.
SCORES = {
    "question_quality": (1, 2, 3),
    "guidance_quality": (0, 1),
    "understanding": (0, 0.5, 1),
    "feedback": (0, 1),
}


class Score(Answer):
    """The reason first."""

    reason: Text = Field(alias="Reason")
    score: float = Field(alias="Score")


class Judge:
    """A model that judges; the same thing twice in the same way, as far as the model allows."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.calls: list[ModelCall] = []

    async def score(self, rubric: str, problem: Problem, rounds: Sequence[Round]) -> float | None:
        """Of the last of the tutor's replies; None where the judge's answers stay unusable."""
        *before, last = rounds
        slots = {
            "question": problem.question,
            "solution": problem.solution,
            "dialogue": "\n".join([*map(_told, before), f"Student: {last.student}"]),
            "reply": last.tutor,
            "shown": PROTOCOL["shown"].get(last.state, ""),
        }
        prompt = TEMPLATES.prompt(rubric, **slots)
        ask = Ask(model=self._model, role="planner", origin=(rubric, *slots.values()))
        try:
            return (await ask(prompt, Score, lambda score: _check(score, rubric))).score
        except Unusable:
            return None
        finally:
            self.calls += ask.calls


def _told(one: Round) -> str:
    return f"Student: {one.student}\nTutor: {one.tutor}"


def _check(score: Score, rubric: str) -> None:
    if score.score not in SCORES[rubric]:
        raise Unreadable(f'"Score" is {score.score:g}; it is one of {", ".join(map(str, SCORES[rubric]))}')
