"""The student of the evaluation: draws a state and one of its fixed wordings, without a model."""

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
    """Picks a wording; `answer` is the student's own, and most states have none."""
    wordings: Sequence[str] = PROTOCOL["says"][state]
    return rng.choice(wordings).format(answer=answer)
