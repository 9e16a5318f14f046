"""Rewards an episode: named components, each with its evidence, by weights that are data.

Everything is read from the ledger, the rules, the programs that ran and the student's own records: nothing that the
policy says about itself earns anything.
"""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from soliloquy.gym.assessment import TABLE, Assessment
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.files import read_regular_text
from soliloquy.v1.conversation_pb2 import Conversation

WEIGHTS: Mapping[str, float] = TABLE["weights"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Component:
    """A part of a reward, from -1 to 1."""

    value: float
    weight: float
    # Everything that speaks against a higher value, each with its turn.
    evidence: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reward:
    components: Mapping[str, Component] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(component.value * component.weight for component in self.components.values())


def weights_of(source: Mapping[str, float] | Path | None) -> Mapping[str, float]:
    """Returns weights with those of a table or a file in their place; raises Failure."""
    try:
        own = tomllib.loads(read_regular_text(source))["weights"] if isinstance(source, Path) else source or {}
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"{source}: {error}: a file of weights has a table [weights]") from error
    if unknown := next((name for name in own if name not in WEIGHTS), None):
        raise Failure(f"weights: there is no component {unknown!r}{did_you_mean(unknown, WEIGHTS)}")
    if wrong := next((name for name, weight in own.items() if not 0 <= weight < inf), None):
        raise Failure(f"weights: {wrong} = {own[wrong]}: a weight is a number from 0 up")
    return {**WEIGHTS, **own}


def reward_of(
    conversation: Conversation, roles: Collection[str], weights: Mapping[str, float], opinion: float | None = None
) -> Reward:
    """Judges a conversation up to the first turns that were taken back or to its end, and marks all its verdicts."""
    read = Assessment(conversation, roles)
    found = {
        "verdict": read.verdict(),
        "learner": read.learner(),
        "solves_after": read.solves_after(),
        "finished": read.finished(),
        "form": read.form(),
        "program": read.program(),
        "given_away": read.given_away(),
        "length": read.length(),
        **({"judge": (opinion, ())} if opinion is not None else {}),
    }
    components = {
        name: Component(value=value, weight=weights[name], evidence=tuple(evidence))
        for name, (value, evidence) in found.items()
    }
    return Reward(components=components)
