"""The teacher's seat: with each message, a person says whether the step at hand is done."""

from collections.abc import Sequence

from soliloquy.recipes.seat import Seat
from soliloquy.recipes.soliloquy import rules
from soliloquy.recipes.soliloquy.labels_pb2 import (
    STEP_STATE_ALL_FINISHED,
    STEP_STATE_FINISHED,
    STEP_STATE_IN_PROGRESS,
    TutorLabels,
)
from soliloquy.recipes.soliloquy.progress import progress_by_turn
from soliloquy.recipes.step_text import step_text
from soliloquy.runtime.files import table_beside
from soliloquy.v1.conversation_pb2 import Conversation

_TABLE = table_beside(__file__, "seat.toml")
_STATES = {"stay": STEP_STATE_IN_PROGRESS, "next": STEP_STATE_FINISHED, "done": STEP_STATE_ALL_FINISHED}


def _record_reply(conversation: Conversation, text: str, move: str) -> None:
    step = progress_by_turn(conversation)[-1].step
    reply = conversation.turns[-1].tutor
    reply.text, reply.labels = text, TutorLabels(step=step, state=_STATES[move]).SerializeToString()


def _plan(conversation: Conversation) -> Sequence[str]:
    problem = conversation.problem
    return [step_text(problem, step, with_result=True) for step in problem.steps]


def _warnings(conversation: Conversation) -> Sequence[str]:
    found = rules.RULES.broken(conversation, ["early_answer"], 1)
    return [f"{rules.RULES.says(one.rule, '')}: {one.evidence}." for one in found]


SEAT = Seat(
    moves=_TABLE["moves"],
    most_turns=_TABLE["most_turns"],
    most_minutes=_TABLE["most_minutes"],
    questionnaire=_TABLE["questionnaire"],
    plan=_plan,
    calculates=True,
    record_reply=_record_reply,
    warnings=_warnings,
)
