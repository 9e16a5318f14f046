"""The recipe's labels in words, for people."""

from typing import Any

from soliloquy.recipes.mathdial.answers import EVALUATIONS
from soliloquy.recipes.mathdial.moves import MEANINGS

WORDS = {
    "evaluations": {letter: word for word, letter in EVALUATIONS.items()} | {"g": "nothing to judge"},
    # The recipe has no steps.
    "actions": MEANINGS,
    "states": {},
}


def remark(turn: dict[str, Any]) -> str:
    """Returns the tutor's evaluation and move in words, from a turn's record."""
    tutor = turn["tutor"]
    judged = WORDS["evaluations"].get(tutor["evaluation"] or "")
    move = f"{tutor['move']}: {tutor['intent'].replace('_', ' ')}"
    return f"the message is {judged}; {move}" if judged else move
