"""The teacher's seat, as the paper has it: compare the solutions, choose a move before each message, answer at the end.

Teachers name a move without an intent, as the paper's did.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from soliloquy.recipes.mathdial.claims import holds_answer
from soliloquy.recipes.mathdial.confusion import confusion_of, labelled
from soliloquy.recipes.mathdial.labels_pb2 import ConversationLabels, TutorLabels
from soliloquy.recipes.mathdial.moves import TEMPLATES
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.seat import Seat, record_resolution
from soliloquy.runtime.files import table_beside
from soliloquy.v1.conversation_pb2 import Conversation

_BOUNDS = table_beside(__file__, "seat.toml")
_MOVES = TEMPLATES.own.table("moves")
_TELLING = "telling"


def _record_comparison(conversation: Conversation, description: str) -> None:
    """Puts the teacher's words in the place of the planner's; what the student's belief is told from stays."""
    confusion = confusion_of(conversation.problem.enrichment)
    confusion.description = description
    conversation.problem.enrichment.labels = labelled(confusion)


def _record_reply(conversation: Conversation, text: str, move: str) -> None:
    reply = conversation.turns[-1].tutor
    reply.text = text
    reply.labels = TutorLabels(move=f"MOVE_{move.upper()}").SerializeToString()


def _warnings(conversation: Conversation) -> Sequence[str]:
    problem, reply = conversation.problem, conversation.turns[-1].tutor
    said = any(holds_answer(turn.student.text, problem) for turn in conversation.turns)
    telling = TutorLabels.FromString(reply.labels).move == TutorLabels(move=f"MOVE_{_TELLING.upper()}").move
    gives_away = holds_answer(reply.text, problem) and not said and not telling
    return ["It gives the answer away before the student has found it."] if gives_away else []


def _record_answers(conversation: Conversation, answers: Mapping[str, Any]) -> None:
    labels = ConversationLabels.FromString(conversation.labels)
    labels.typical_confusion = answers["confusion_typical"]
    labels.typical_interactions = answers["interaction_typical"]
    conversation.labels = labels.SerializeToString()
    record_resolution(conversation, answers)


SEAT = Seat(
    moves={name: row["meaning"] for name, row in _MOVES.items()},
    most_turns=POLICY["talk"]["most_turns"],
    most_minutes=_BOUNDS["most_minutes"],
    questionnaire=_BOUNDS["questionnaire"],
    student_name=lambda conversation: ConversationLabels.FromString(conversation.labels).student_name,
    handed_in=lambda conversation: confusion_of(conversation.problem.enrichment).solution,
    record_comparison=_record_comparison,
    record_reply=_record_reply,
    warnings=_warnings,
    record_answers=_record_answers,
)
