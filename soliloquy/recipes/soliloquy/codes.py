"""The paper's numbered actions, and its codes in words."""

import tomllib
from pathlib import Path
from typing import Any

# Which actions may follow which evaluation, and those that give a step's answer.
ACTIONS = {"a": {1, 2}, "b": {3}, "c": {4, 5}, "d": {6}, "e": {7}, "f": {8, 9, 10, 11}, "g": {12}}
GIVING_ACTIONS = {2, 5, 9}
GOING_BACK = 10
# Evaluations, actions and states in words, as people read them.
WORDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("codes.toml").read_text("utf-8"))


def remark(turn: dict[str, Any]) -> str:
    """What the tutor made of a message, from a turn's record."""
    tutor = turn["tutor"]
    evaluation, state = (_in_words(kind, tutor[kind]) for kind in ("evaluation", "state"))
    return f"step {tutor['step']}: the message is {evaluation}; action {tutor['action']}; {state}"


def _in_words(kind: str, code: str | None) -> str:
    """An imported conversation may say nothing of it."""
    meanings = WORDS[f"{kind}s"]
    return f"{meanings[code]} ({code})" if code in meanings else "unknown"
