"""Holds the word lists, limits and tolerances of the reader of calculations, from `arithmetic.toml`."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Order(_Table):
    """An instruction to calculate: "divide 15 by 3"."""

    verb: str
    between: str
    sign: str
    # "subtract 3 from 10"
    swaps: bool = False


class Words(_Table):
    equals: tuple[str, ...]
    restates: tuple[str, ...]
    about: tuple[str, ...]
    times: tuple[str, ...]
    over: tuple[str, ...]
    plus: tuple[str, ...]
    minus: tuple[str, ...]
    fillers: frozenset[str]
    orders: tuple[Order, ...]
    multipliers: dict[str, float]
    labels: tuple[str, ...]
    no_nouns: frozenset[str]
    supposes: frozenset[str]


class Limits(_Table):
    tokens: int
    brackets: int
    nouns: int
    shortest_noun: int


class Tolerances(_Table):
    exact: float
    rounded: float
    cut: float
    solution: float


class Known(_Table):
    counts: frozenset[float]
    parts: frozenset[float]
    latex: frozenset[str]
    punctuation: str
    changes: frozenset[str]


class Asked(_Table):
    begins: str
    ends: str
    how_long: str
    kinds: dict[str, str]


class _Policy(_Table):
    asked: Asked
    words: Words
    known: Known
    limits: Limits
    tolerances: Tolerances


_POLICY = _Policy.model_validate(tomllib.loads(Path(__file__).with_name("arithmetic.toml").read_text("utf-8")))
WORDS, KNOWN, LIMITS, TOLERANCES = _POLICY.words, _POLICY.known, _POLICY.limits, _POLICY.tolerances
ASKED = _POLICY.asked
