"""Retrainings in one process, with a growing dataset and tutors of any quality."""

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
from soliloquy_papers.soliloquy.evaluate.evaluation import figures, page
from soliloquy_training.continuous.folder import RoundOutcome
from soliloquy_training.evaluation.report import write_report
from tests.unit.papers.soliloquy.evaluate.cases import drawn, results


class Killed(Exception):
    """Simulates the death of the process at this moment."""


def grow(folder: Path, accepted: Sequence[Conversation]) -> None:
    """Adds another shard, as a collector does."""
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
    """Evaluates the tutors in order on real cases, whatever the adapter, and claims to ask about these problems too."""

    tutors: Sequence[Model]
    about: Sequence[str] = ()
    put: list[Path] = field(default_factory=list)

    def __call__(self, adapter: Path | None, out: Path) -> Mapping[str, Any]:
        cases = drawn(1)
        found = results(self.tutors[len(self.put)], cases)
        self.put.append(out)
        ids = {case.conversation.problem.id for case in cases.cases}
        put = {"sha256": cases.digest, "problem_ids": sorted(ids | set(self.about))}
        about = {"protocol": "soliloquy", "name": out.name}
        report = {**about, "cases": {"put": "1 question", **put}, "figures": figures(found)}
        write_report(out, report, found, page(report, found))
        return report


@dataclass
class Noted:
    """Records a retraining's messages, and on request simulates a death once at each step."""

    fatal: bool = False
    steps: list[str] = field(default_factory=list)

    def waiting(self, number: int, found: int) -> None:
        self.at(number, f"{found} conversations are there")

    def at(self, number: int, step: str) -> None:
        told = f"{number}: {step}"
        if self.fatal and told not in self.steps:
            self.steps.append(told)
            raise Killed(told)
        self.steps.append(told)


def until_done(run: Callable[[], list[RoundOutcome]]) -> tuple[list[RoundOutcome], int]:
    """Restarts it whenever it was killed; returns the number of restarts."""
    killed = 0
    while True:
        try:
            return run(), killed
        except Killed:
            killed += 1
