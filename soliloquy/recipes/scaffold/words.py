"""The recipe's labels in words, as people read them."""

from typing import Any

WORDS = {
    "evaluations": {
        "a": "incorrect",
        "b": "correct",
        "d": "confused",
        "e": "irrelevant",
        "f": "a question",
        "g": "nothing to judge",
    },
    # What a tutor does follows from the state and has no number.
    "actions": {},
    "states": {},
}


def remark(turn: dict[str, Any]) -> str:
    """What the tutor made of a message, from a turn's record."""
    sent_back = len(turn["student"]["rejected"]) if turn["student"] else 0
    found = f"learner state: {turn['tutor']['learner_state']}; sub-question {turn['sub_question']}"
    return f"{found}; {sent_back} sent back before" if sent_back else found
