"""The conditions for activating an adapter: a TOML file, checked before anything is trained."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from soliloquy.runtime.validated_file import read_model

SHIPPED = Path(__file__).with_name("policy.toml")
# The value of each figure, by its name.
Figures = Mapping[str, float]


class EvaluationPolicy(BaseModel, frozen=True, extra="forbid"):
    # A bank or a problem file.
    problems: str
    questions: int = Field(ge=1)
    seed: int = Field(ge=0)
    max_tokens: int = Field(ge=1)


class CanaryPolicy(BaseModel, frozen=True, extra="forbid"):
    count: int = Field(ge=1)
    readable: float = Field(ge=0, le=1)


class Policy(BaseModel, frozen=True, extra="forbid"):
    evaluation: EvaluationPolicy
    may_lose: Figures
    canaries: CanaryPolicy

    @field_validator("may_lose")
    @classmethod
    def _known(cls, may_lose: Figures, info: ValidationInfo) -> Figures:
        metrics = info.context or {}
        if unknown := sorted(may_lose.keys() - metrics.keys()):
            raise ValueError(f"{unknown[0]} is not a figure of the evaluation; its figures are {', '.join(metrics)}")
        return may_lose

    def complaint(self, before: Figures, after: Figures, metrics: Mapping[str, str]) -> str:
        """Returns which figures fell too far, or an empty string; `metrics` has their titles."""
        lost = [
            f"{metrics[name]} is {after[name]:.2f}, before {before[name]:.2f}; the policy requires {least:.2f}"
            for name, margin in self.may_lose.items()
            # Tolerates rounding errors.
            if after[name] < (least := before[name] - margin) - 1e-9
        ]
        return "; ".join(lost)


def read_policy(path: Path, *, metrics: Mapping[str, str], problems: str, may_lose: Figures) -> Policy:
    """Takes problems and margins that the file does not set from the recipe's evaluation, which has these metrics."""

    def parse(text: str) -> dict[str, Any]:
        content = {"may_lose": may_lose, **tomllib.loads(text)}
        if isinstance(evaluation := content.get("evaluation"), dict):
            content["evaluation"] = {"problems": problems, **evaluation}
        return content

    return read_model(path, parse, Policy, context=metrics)
