"""The recipe's labels in words, as people read them."""

from typing import Any

from soliloquy.recipes.mathdial.answers import EVALUATIONS
from soliloquy.recipes.mathdial.moves import MEANINGS

WORDS = {
    "evaluations": {letter: word for word, letter in EVALUATIONS.items()} | {"g": "nothing to judge"},
    # A problem is not gone through step by step.
    "actions": MEANINGS,
    "states": {},
}


def remark(turn: dict[str, Any]) -> str:
    """What the tutor made of a message, from a turn's record."""
    tutor = turn["tutor"]
    judged = WORDS["evaluations"].get(tutor["evaluation"] or "")
    move = f"{tutor['move']}: {tutor['intent'].replace('_', ' ')}"
    return f"the message is {judged}; {move}" if judged else move
