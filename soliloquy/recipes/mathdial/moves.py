"""The paper's teacher moves, four categories with eleven intents."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from soliloquy.recipes.codes import word_of
from soliloquy.recipes.mathdial.labels_pb2 import Move, MoveIntent, TutorLabels
from soliloquy.v1.conversation_pb2 import TutorReply

_TABLE = tomllib.loads((Path(__file__).parent / "prompts" / "moves.toml").read_text("utf-8"))
# The meaning of each move, and its intents with their meanings.
MEANINGS: Mapping[str, str] = {move: row["meaning"] for move, row in _TABLE.items()}
INTENTS: Mapping[str, Mapping[str, str]] = {move: row["intents"] for move, row in _TABLE.items()}
OPENING = ("generic", "general_inquiry")
FAREWELL = ("generic", "greeting_farewell")
EVALUATIONS = {"a": "incorrect", "b": "correct", "c": "partial", "d": "unclear", "g": "nothing to judge"}


def move_name(reply: TutorReply) -> str:
    return word_of(Move, TutorLabels.FromString(reply.labels).move)


def intent_name(reply: TutorReply) -> str:
    return word_of(MoveIntent, TutorLabels.FromString(reply.labels).move_intent)


def belongs(move: str, intent: str) -> bool:
    return intent in INTENTS.get(move, {})
