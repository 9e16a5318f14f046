"""The recipe's labels in words, as people read them."""

from typing import Any

from services.recipes.mathdial.answers import EVALUATIONS

WORDS = {
    "evaluations": {letter: word for word, letter in EVALUATIONS.items()} | {"g": "nothing to judge"},
    # Its moves are no numbered actions, and a problem is not gone through step by step.
    "actions": {"0": "see the moves"},
    "states": {},
}


def remark(turn: dict[str, Any]) -> str:
    """What the tutor made of a message, from a turn's record."""
    tutor = turn["tutor"]
    judged = WORDS["evaluations"].get(tutor["evaluation"] or "")
    move = f"{tutor['move']}: {tutor['intent'].replace('_', ' ')}"
    return f"the message is {judged}; {move}" if judged else move
