"""The paper's teacher moves, four categories with eleven intents, and the recipe's labels in words."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from soliloquy.recipes.labels import Column
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ErrorCategory, Move, MoveIntent, TutorLabels
from soliloquy.v1.conversation_pb2 import Resolution, TutorReply


def _word(name: str, prefix: str) -> str:
    """Returns an empty text for an unset enum."""
    word = name.removeprefix(prefix).lower()
    return "" if word == "unspecified" else word


_TABLE = tomllib.loads((Path(__file__).parent / "prompts" / "moves.toml").read_text("utf-8"))
# The meaning of each move, and its intents with their meanings.
MEANINGS: Mapping[str, str] = {move: row["meaning"] for move, row in _TABLE.items()}
INTENTS: Mapping[str, Mapping[str, str]] = {move: row["intents"] for move, row in _TABLE.items()}
OPENING = ("generic", "general_inquiry")
FAREWELL = ("generic", "greeting_farewell")
EVALUATIONS = {"a": "incorrect", "b": "correct", "c": "partial", "d": "unclear", "g": "nothing to judge"}
COLUMNS = {
    "conversation.student_name": Column(title="name", names_student=True),
    "enrichment.confusion.solution": Column(title="What the student believes", text="{}"),
    "enrichment.confusion.category": Column(
        title="error", heading="The error in the solution that the student believes in"
    ),
    "student.belief": Column(title="belief", heading="What its messages still believe", drawn="its wrong solution: {}"),
    "tutor.move": Column(title="move", heading="The tutor's moves", words=MEANINGS, response=True),
    "tutor.move_intent": Column(title="intent", heading="What the moves are for"),
}


def move_name(reply: TutorReply) -> str:
    return _word(Move.Name(TutorLabels.FromString(reply.labels).move), "MOVE_")


def intent_name(reply: TutorReply) -> str:
    return _word(MoveIntent.Name(TutorLabels.FromString(reply.labels).move_intent), "MOVE_INTENT_")


def belief_name(belief: Belief) -> str:
    return _word(Belief.Name(belief), "BELIEF_")


def category_name(category: ErrorCategory) -> str:
    return _word(ErrorCategory.Name(category), "ERROR_CATEGORY_")


def resolution_name(resolution: Resolution) -> str:
    return _word(Resolution.Name(resolution), "RESOLUTION_")


def belongs(move: str, intent: str) -> bool:
    return intent in INTENTS.get(move, {})
