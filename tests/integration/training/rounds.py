"""Retrainings in one process: a dataset that grows, and tutors that are as good as a test wants."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import read_manifest, shards_of, write_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from tests.unit.training.evaluation.putting import drawn, results
from training.continuous.folder import RoundOutcome
from training.evaluation.higgs.figures import figures
from training.evaluation.higgs.page import page
from training.evaluation.report import write_report


class Killed(Exception):
    """Stands for the end of the process at this moment."""


def grow(folder: Path, accepted: Sequence[Conversation]) -> None:
    """Another shard, as a collector adds it."""
    folder.mkdir(exist_ok=True)
    place = Storage(folder)
    manifest = read_manifest(place) or {"run": {}, "counts": {}, "cost": {}, "arrival": {}, "shards": []}
    present = shards_of(manifest)
    writer = DatasetWriter(place, folder, present, ShardLimits(), Tally())
    for conversation in accepted:
        writer.add(Collected(conversation=conversation.SerializeToString()))
    write_manifest(place, manifest, [*present, *writer.close()])


@dataclass(kw_only=True)
class Evaluating:
    """Puts real cases to one tutor after the other, whatever the adapter; about these problems too, it says."""

    tutors: Sequence[Model]
    about: Sequence[str] = ()
    put: list[Path] = field(default_factory=list)

    def __call__(self, adapter: Path | None, out: Path) -> Mapping[str, Any]:
        cases = drawn(1)
        found = results(self.tutors[len(self.put)], cases)
        self.put.append(out)
        ids = {case.conversation.problem.id for case in cases.cases}
        put = {"sha256": cases.digest, "problem_ids": sorted(ids | set(self.about))}
        report = {"name": out.name, "cases": {"put": "1 question", **put}, "figures": figures(found)}
        write_report(out, report, found, page(report, found))
        return report


@dataclass
class Noted:
    """Takes down what a retraining says, and ends the process once at each step of it where that is wanted."""

    fatal: bool = False
    steps: list[str] = field(default_factory=list)
    ends: list[RoundOutcome] = field(default_factory=list)

    def waiting(self, number: int, found: int) -> None:
        self.at(number, f"{found} conversations are there")

    def at(self, number: int, step: str) -> None:
        told = f"{number}: {step}"
        if self.fatal and told not in self.steps:
            self.steps.append(told)
            raise Killed(told)
        self.steps.append(told)

    def ended(self, outcome: RoundOutcome) -> None:
        self.ends.append(outcome)


def until_done(run: Callable[[], list[RoundOutcome]]) -> tuple[list[RoundOutcome], int]:
    """Starts it again whenever it was killed; how often that was."""
    killed = 0
    while True:
        try:
            return run(), killed
        except Killed:
            killed += 1
