"""The conditions for activating an adapter: a TOML file, checked before anything is trained."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from soliloquy.recipes.soliloquy.evaluate.judging import METRICS
from training.settings import read_model

SHIPPED = Path(__file__).with_name("policy.toml")
# The value of each figure, by its name.
Figures = Mapping[str, float]


class EvaluationPolicy(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # A bank or a problem file.
    problems: str
    questions: int = Field(ge=1)
    seed: int = Field(ge=0)
    max_tokens: int = Field(ge=1)


class CanaryPolicy(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    count: int = Field(ge=1)
    readable: float = Field(ge=0, le=1)


class Policy(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    evaluation: EvaluationPolicy
    may_lose: Figures
    canaries: CanaryPolicy

    @field_validator("may_lose")
    @classmethod
    def _known(cls, may_lose: Figures) -> Figures:
        if unknown := sorted(may_lose.keys() - METRICS.keys()):
            raise ValueError(f"{unknown[0]} is not a figure of the evaluation; its figures are {', '.join(METRICS)}")
        return may_lose

    def complaint(self, before: Figures, after: Figures) -> str:
        """Returns which figures fell too far, or an empty string."""
        lost = [
            f"{METRICS[name]} is {after[name]:.2f}, before {before[name]:.2f}; the policy requires {least:.2f}"
            for name, margin in self.may_lose.items()
            # Tolerates rounding errors.
            if after[name] < (least := before[name] - margin) - 1e-9
        ]
        return "; ".join(lost)


def read_policy(path: Path) -> Policy:
    return read_model(path, tomllib.loads, Policy)
