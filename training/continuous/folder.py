"""The plan and the outcome of a round of retraining, and the folder of all rounds."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.validated_file import read_model
from soliloquy_training.continuous.sources import SourceSpan
from soliloquy_training.state import OUTCOME, RoundsFolder, Workflow

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


_WORKFLOW = Workflow(name="retraining", file="retraining.json", option="--state")
_HEAD = ("round", "conversations", "from", "to", "loss", "held out", "evaluation before", "after", "outcome")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundPlan:
    """The conversations of a round, and the version that it trains on top of; empty for the base."""

    span: SourceSpan
    onto: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundOutcome:
    """The result of a round."""

    round: int
    plan: RoundPlan
    # activated, worse, refused (by the canaries or after another activation) or diverged.
    outcome: str
    # Why the version is not in service; empty if it is.
    reason: str = ""
    # Empty if the training diverged; then there are no figures either.
    version: str = ""
    loss: Mapping[str, float] | None = None
    held_out: float | None = None
    before: Figures | None = None
    after: Figures | None = None

    def row(self) -> list[str]:
        loss = f"{self.loss['first']:.4f} to {self.loss['last']:.4f}" if self.loss else ""
        held_out = "" if self.held_out is None else f"{self.held_out:.4f}"
        result = f"{self.outcome}: {self.reason}" if self.reason else f"{self.outcome}: {self.version}"
        span = self.plan.span
        places = (_place_text(span.begin), _place_text(span.end))
        figures = (_figures(self.before), _figures(self.after))
        return [str(self.round), f"{span.conversations:,}", *places, loss, held_out, *figures, result]


class RetrainingFolder(RoundsFolder[RoundOutcome]):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _WORKFLOW, RoundOutcome, first=1)

    @contextmanager
    def opened(self, identity: Mapping[str, Any]) -> Iterator[None]:
        with super().opened(identity):
            # A process killed after an outcome may not have added it to the table.
            self._tabulate()
            yield

    def finish(self, outcome: RoundOutcome) -> None:
        self.round(outcome.round).write(OUTCOME, outcome)
        self._tabulate()

    def learned(self, number: int) -> set[str]:
        """Returns the ids of the conversations that a round learned from."""
        return {id for batch in Dataset(self.round(number).data).batches(["id"]) for id in batch["id"].to_pylist()}

    def evaluation(self, version: str) -> Path:
        """Returns the folder of a version's evaluation, which all rounds share; an empty version is the base."""
        return self.folder / "evaluations" / (version or "base")

    def _tabulate(self) -> None:
        self.write_table(_HEAD, [outcome.row() for outcome in self.done()])


def _place_text(place: Any) -> str:
    if isinstance(place, dict):
        return ", ".join(f"{number}:{offset}" for number, offset in place.items())
    return place or "the first"


def _figures(figures: Figures | None) -> str:
    return ", ".join(f"{name} {share:.2f}" for name, share in (figures or {}).items())
