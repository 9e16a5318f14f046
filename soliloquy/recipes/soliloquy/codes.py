"""The paper's numbered actions, and readable names for its codes."""

import tomllib
from pathlib import Path
from typing import Any

# Which actions may follow which evaluation.
ACTIONS = {"a": {1, 2}, "b": {3}, "c": {4, 5}, "d": {6}, "e": {7}, "f": {8, 9, 10, 11}, "g": {12}}
GIVING_ACTIONS = {2, 5, 9}
GOING_BACK = 10
# Readable names of evaluations, actions and states.
WORDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("codes.toml").read_text("utf-8"))


def remark(turn: dict[str, Any]) -> str:
    """Summarises the tutor's assessment of a message, from a turn's record."""
    tutor = turn["tutor"]
    evaluation, state = (_in_words(kind, tutor[kind]) for kind in ("evaluation", "state"))
    return f"step {tutor['step']}: the message is {evaluation}; action {tutor['action']}; {state}"


def _in_words(kind: str, code: str | None) -> str:
    """Imported conversations may lack the code."""
    meanings = WORDS[f"{kind}s"]
    return f"{meanings[code]} ({code})" if code in meanings else "unknown"
