"""The paper's teacher moves, four categories with eleven intents."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from soliloquy.recipes.codes import word_of
from soliloquy.recipes.mathdial.labels_pb2 import Move, MoveIntent, TutorLabels
from soliloquy.recipes.prompt_checks import Kind
from soliloquy.recipes.templates import Templates
from soliloquy.v1.conversation_pb2 import TutorReply

# The intents of each move.
INTENTS: Mapping[str, Sequence[str]] = {
    "focus": ("seek_strategy", "guide_focus", "recall_information"),
    "probing": ("ask_explanation", "seek_self_correction", "perturb_question", "seek_world_knowledge"),
    "telling": ("reveal_strategy", "reveal_answer"),
    "generic": ("greeting_farewell", "general_inquiry"),
}
TABLES: Mapping[str, Kind] = {
    "moves": {move: {"meaning": str, "intents": dict.fromkeys(intents, str)} for move, intents in INTENTS.items()}
}
TEMPLATES = Templates(Path(__file__).with_name("prompts"), {}, TABLES)
OPENING = ("generic", "general_inquiry")
FAREWELL = ("generic", "greeting_farewell")
EVALUATIONS = {"a": "incorrect", "b": "correct", "c": "partial", "d": "unclear", "g": "nothing to judge"}


def move_name(reply: TutorReply) -> str:
    return word_of(Move, TutorLabels.FromString(reply.labels).move)


def intent_name(reply: TutorReply) -> str:
    return word_of(MoveIntent, TutorLabels.FromString(reply.labels).move_intent)


def belongs(move: str, intent: str) -> bool:
    return intent in INTENTS.get(move, ())
