"""The plan and the outcome of a round of retraining, and the folder of all rounds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.dataset.reading import Dataset
from soliloquy_training.continuous.policy import Figures
from soliloquy_training.continuous.sources import SourceSpan
from soliloquy_training.state import OUTCOME, RoundsFolder, Workflow

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
