"""A model that learns from its own problems: it writes, what meets all criteria is learned, and it writes again.

Each step leaves a file or a folder that appears whole, and is passed over where that is there: a process that was
killed at any moment is gone on from, and nothing is learned or written twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.reading import Dataset
from training.folder import Job, TrainingFolder
from training.freeze import freeze_together
from training.rounds.folder import ImprovementFolder, ImprovementRound
from training.rounds.outcome import RoundResult, best, figures
from training.settings import CannotTrain, Diverged, TrainingSettings
from training.source import conversations

AS_IT_WAS = "the writer as it was"
UNTRAINED = "the same writer again: without a base to train, nothing is learned"


@dataclass(frozen=True, kw_only=True, slots=True)
class WriterTraining:
    """What is trained, and who does it."""

    base: Path
    settings: TrainingSettings
    # Has a job trained, wherever that is.
    train: Callable[[Job], None]
    # A dataset of problems to learn from besides those that are written; empty for none.
    start: str


@dataclass(frozen=True, kw_only=True)
class Improvement:
    rounds: ImprovementFolder
    # None where the writer has no weights to train.
    school: WriterTraining | None
    # Has a round's problems written into a folder: by the base, or by an adapter on top of it.
    write: Callable[[int, Path | None, Path], None]
    # Which of these questions say nearly the same as one before them.
    repeats: Callable[[Sequence[str]], Sequence[bool]]
    # Hears what a round is at.
    tell: Callable[[int, str], None]

    def run(self, rounds: int, identity: Mapping[str, Any]) -> dict[str, Any]:
        """The writer as it is, then so many rounds of training and writing; returns the report. Raises CannotTrain."""
        if self.school and self.school.settings.tune != "lora":
            raise CannotTrain(f"tune: {self.school.settings.tune} makes no adapter, which is what a round ends with")
        with self.rounds.opened(identity):
            done = self.rounds.done() or [self._round([])]
            while len(done) <= rounds:
                if ended := self._nothing_new(done):
                    return self.rounds.report(done, ended)
                self.rounds.report(done, "")
                done.append(self._round(done))
            return self.rounds.report(done, "")

    def _round(self, done: Sequence[RoundResult]) -> RoundResult:
        folder = self.rounds.round(len(done))
        try:
            trained = self._trained(folder, done) if self.school and done else {}
            outcome = self._written(folder, done, trained)
        except Diverged as diverged:
            learned = Dataset(folder.data).count()
            outcome = RoundResult(round=folder.number, learned=learned, figures=None, remark=f"diverged: {diverged}")
        self.rounds.finish(outcome)
        self.tell(folder.number, outcome.remark)
        return outcome

    def _trained(self, folder: ImprovementRound, done: Sequence[RoundResult]) -> Mapping[str, Any]:
        """From the base each time: what an earlier round has learned wrongly is not learned on."""
        assert self.school
        if not folder.data.exists():
            datasets = self._datasets(done)
            fresh = set[str]().union(*self._fresh(datasets))
            self.tell(folder.number, f"freezing {len(fresh)} problems")
            folder.folder.mkdir(exist_ok=True)
            freeze_together(datasets, folder.data, leave_out=lambda one: one.id not in fresh)
        school = self.school
        job = Job(settings=school.settings, base=school.base, data=str(folder.data), folder=folder.training)
        training = TrainingFolder(job)
        if not training.report():
            self.tell(folder.number, "training")
            school.train(job)
        return training.report()

    def _written(
        self, folder: ImprovementRound, done: Sequence[RoundResult], trained: Mapping[str, Any]
    ) -> RoundResult:
        if not (folder.written / MANIFEST).exists():
            self.tell(folder.number, "writing")
            self.write(folder.number, folder.adapter if trained else None, folder.written)
        written = Dataset(folder.written)
        fresh = self._fresh([*self._datasets(done), str(folder.written)])[-1] if written.count() else ()
        outcome = RoundResult(
            round=folder.number,
            adapter_digest=trained.get("adapter_digest", ""),
            learned=trained["data"]["conversations"] if trained else 0,
            loss=trained.get("loss"),
            held_out=trained["validation"]["loss"] if trained and trained["validation"] else None,
            figures=figures(written, fresh=len(fresh)),
            remark="",
        )
        return outcome.remarked(self._remark(outcome, done))

    def _remark(self, outcome: RoundResult, done: Sequence[RoundResult]) -> str:
        if not done:
            return AS_IT_WAS
        return outcome.beside(best(done)) if self.school else UNTRAINED

    def _nothing_new(self, done: Sequence[RoundResult]) -> str:
        """Why a further training would be the last one again; empty where it would not."""
        if self.school is None:
            return ""
        found = sum(map(len, self._fresh(self._datasets(done))))
        if not found:
            return "nothing is kept, so there is nothing to learn from: name --start, or a base that writes better"
        if found == done[-1].learned:
            return f"nothing of round {done[-1].round} is kept that was not there before, so nothing new is to learn"
        return ""

    def _datasets(self, done: Sequence[RoundResult]) -> list[str]:
        """What there is to learn from: the start, and all rounds of which anything was kept."""
        start = [self.school.start] if self.school and self.school.start else []
        return start + [
            str(self.rounds.round(one.round).written) for one in done if one.figures and one.figures["kept"]
        ]

    def _fresh(self, datasets: Sequence[str]) -> list[set[str]]:
        """Of each dataset, the problems that say nothing which one before them says."""
        told = [
            (place, one.id, one.problem.question) for place, data in enumerate(datasets) for one in conversations(data)
        ]
        fresh: list[set[str]] = [set() for _ in datasets]
        for (place, id, _), repeated in zip(told, self.repeats([question for *_, question in told]), strict=True):
            if not repeated:
                fresh[place].add(id)
        return fresh
