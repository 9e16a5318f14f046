"""The files of a retraining: a file that exists marks a finished step, and the next start continues after it."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from soliloquy.dataset.reading import Dataset
from training.continuous.policy import Figures
from training.continuous.sources import SourceSpan
from training.evaluation.report import table
from training.state import Workflow, lock_folder, read, write

TABLE = "rounds.md"
_WORKFLOW = Workflow(name="retraining", option="--state")
_PLAN, _OUTCOME = "plan.json", "outcome.json"
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


class RoundFolder:
    """The folder of one round."""

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.folder = folder / f"round-{number:04d}"
        self.data = self.folder / "data"
        self.training = self.folder / "training"

    def plan(self) -> RoundPlan | None:
        planned = read(self.folder / _PLAN)
        return RoundPlan(span=SourceSpan(**planned["span"]), onto=planned["onto"]) if planned else None

    def write_plan(self, plan: RoundPlan) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write(self.folder / _PLAN, json.dumps(asdict(plan), indent=2))

    def outcome(self) -> RoundOutcome | None:
        found, plan = read(self.folder / _OUTCOME), self.plan()
        return RoundOutcome(**{**found, "plan": plan}) if found else None

    def learned(self) -> set[str]:
        """Returns the ids of the conversations that the round learned from."""
        return {id for batch in Dataset(self.data).batches(["id"]) for id in batch["id"].to_pylist()}


class RetrainingFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def opened(self, identity: Mapping[str, Any]) -> Iterator[None]:
        """Raises CannotTrain if the folder belongs to another retraining or is in use."""
        with lock_folder(self.folder, _WORKFLOW, identity):
            # A process killed after an outcome may not have added it to the table.
            self._write_table()
            yield

    def done(self) -> list[RoundOutcome]:
        found: list[RoundOutcome] = []
        while outcome := self.round(len(found) + 1).outcome():
            found.append(outcome)
        return found

    def round(self, number: int) -> RoundFolder:
        return RoundFolder(self.folder, number)

    def finish(self, outcome: RoundOutcome) -> None:
        write(self.round(outcome.round).folder / _OUTCOME, json.dumps(asdict(outcome), indent=2))
        self._write_table()

    def evaluation(self, version: str) -> Path:
        """Returns the folder of a version's evaluation, which all rounds share; an empty version is the base."""
        return self.folder / "evaluations" / (version or "base")

    def _write_table(self) -> None:
        write(self.folder / TABLE, "\n".join(_page(self.done())))


def _page(outcomes: Sequence[RoundOutcome]) -> Collection[str]:
    return [
        "# Rounds",
        "",
        *table(_HEAD, [[cell.replace("|", "\\|") for cell in one.row()] for one in outcomes]),
    ]


def _place_text(place: Any) -> str:
    if isinstance(place, dict):
        return ", ".join(f"{number}:{offset}" for number, offset in place.items())
    return place or "the first"


def _figures(figures: Figures | None) -> str:
    return ", ".join(f"{name} {share:.2f}" for name, share in (figures or {}).items())
