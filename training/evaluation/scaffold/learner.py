"""The student of an evaluation: its state is drawn, and its words are one of a few fixed ones; no model plays it."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

PROTOCOL: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("protocol.toml").read_text("utf-8"))

States = Mapping[str, float]


def draw_state(states: States, rng: Random) -> str:
    return rng.choices(list(states), list(states.values()))[0]


def wording(state: str, rng: Random, *, answer: str = "") -> str:
    """The answer is the student's own, right or wrong; most states have none."""
    wordings: Sequence[str] = PROTOCOL["says"][state]
    return rng.choice(wordings).format(answer=answer)
