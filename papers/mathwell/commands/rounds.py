"""Improves a model with its own problems: it writes, learns those that meet all criteria, and writes again.

Each step ends with a file or a folder, and a step whose result exists is skipped: a killed process resumes without
training or writing anything twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from soliloquy.annotation.intervals import wilson
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.reading import Dataset
from soliloquy.problems.sifting.near_duplicates import repeats
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_papers.mathwell.figures.authored import count_authored
from soliloquy_papers.mathwell.figures.problem_measures import cells
from soliloquy_training.folder import Job, TrainingFolder
from soliloquy_training.freeze import freeze
from soliloquy_training.settings import Diverged, TrainingSettings
from soliloquy_training.source import conversations, digest_of
from soliloquy_training.state import OUTCOME, RoundFolder, RoundsFolder, Workflow, write_json

REPORT = "rounds.json"
_WORKFLOW = Workflow(name="improvement", file="improvement.json", option="--out")
_LEGEND = """\
Executable of what was asked for; the criteria as in the paper's table: solvable of what ran, accurate and appropriate
of what is solvable, all three of what ran. Kept is what met all that was asked, of what was asked for, without what
says nearly the same as a problem kept before; by that share, with its 95 % interval, writers are compared. Alike are
the words that two questions of what ran have in common, in the mean; operations are how many a problem takes."""
# The columns of the table that show a figure of the round, with its name.
_FIGURES = {
    "asked": "asked",
    "executable %": "executable",
    "solvable %": "solvable",
    "accurate %": "accurate",
    "appropriate %": "appropriate",
    "all %": "all",
    "kept %": "kept",
    "near-duplicates": "near_duplicates",
    "alike %": "self_similarity",
    "operations": "distinct_operations",
    "reading grade": "reading_grade",
    "New Dale-Chall": "dale_chall",
}
_HEAD = ("round", "writer", "learned from", "loss", "held out", *_FIGURES, "")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundResult:
    round: int
    # The adapter of the writer; empty if the writer was not trained or its training diverged.
    adapter_digest: str = ""
    # The number of problems that it learned from.
    learned: int = 0
    loss: Mapping[str, float] | None = None
    held_out: float | None = None
    # The figures of the problems that it wrote; None if it wrote none.
    figures: Mapping[str, Any] | None
    # A comparison with the best earlier round.
    remark: str

    @property
    def share(self) -> float:
        """The share of the requested problems that were accepted and repeat no earlier problem."""
        return self.figures["fresh"] / self.figures["asked"] if self.figures else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.figures["fresh"], self.figures["asked"]) if self.figures else (0.0, 0.0)

    def beside(self, best: "RoundResult") -> str:
        """Compares the round with the best earlier one, and says whether chance could explain the difference."""
        if self.share == best.share:
            return f"no better than round {best.round}, which stays the best"
        (low, high), (least, most) = self.interval, best.interval
        doubt = ", though chance alone may explain the difference" if low <= most and least <= high else ""
        if self.share > best.share:
            return f"better than round {best.round}{doubt}"
        return f"worse than round {best.round}, which stays the best{doubt}"

    def row(self) -> Sequence[str]:
        loss = f"{self.loss['first']:.3f} to {self.loss['last']:.3f}" if self.loss else ""
        held_out = "" if self.held_out is None else f"{self.held_out:.3f}"
        trained = (self.adapter_digest[:12] or "as it was", f"{self.learned:,}" if self.learned else "", loss, held_out)
        low, high = self.interval
        kept = f"{100 * self.share:.1f} ({100 * low:.0f} to {100 * high:.0f})"
        found = {**self.figures, "kept": kept} if self.figures else {}
        return [str(self.round), *trained, *cells(found, _FIGURES.values()), self.remark]


def best(outcomes: Sequence[RoundResult]) -> RoundResult:
    """Returns the best round; of several with the same share, the first."""
    return max(outcomes, key=lambda one: one.share)


def figures(written: Dataset, *, fresh: int) -> dict[str, Any]:
    """Returns the figures of a round; `fresh` is the number of accepted problems that repeat no earlier one."""
    kept = written.count()
    asked = kept + written.count(rejected=True)
    authored = count_authored(written)
    return {
        "asked": asked,
        "executable": round(100 * authored.ran / asked, 1),
        "kept": kept,
        "fresh": fresh,
        "near_duplicates": kept - fresh,
        **authored.as_json(),
    }


class ImprovementFolder(RoundsFolder[RoundResult]):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _WORKFLOW, RoundResult, first=0)

    def report(self, outcomes: Sequence[RoundResult], ended: str) -> dict[str, Any]:
        """Writes the table and the report; returns the report. `ended` says why there are too few rounds."""
        trained = any(outcome.adapter_digest for outcome in outcomes)
        chosen = best(outcomes) if trained else outcomes[0]
        adapter = self.round(chosen.round).adapter if chosen.adapter_digest else None
        report = {
            "best": chosen.round,
            "adapter": str(adapter) if adapter else "",
            "ended": ended,
            "rounds": [asdict(outcome) for outcome in outcomes],
        }
        write_json(self.folder / REPORT, report)
        writer = f"The best writer is that of round {chosen.round}{f': `{adapter}`' if adapter else ''}."
        if not trained:
            writer = "One writer wrote all problems: the rounds differ by chance only."
        ending = [f"Ended early: {ended}.", ""] if ended else []
        self.write_table(_HEAD, [outcome.row() for outcome in outcomes], "", writer, "", *ending, _LEGEND)
        return report


AS_IT_WAS = "the writer as it was"
UNTRAINED = "the same writer again: without a base, nothing is trained"


@dataclass(frozen=True, kw_only=True, slots=True)
class WriterTraining:
    """How the writer is trained."""

    base: Path
    settings: TrainingSettings
    # Trains a job, on this machine or elsewhere.
    train: Callable[[Job], None]
    # A dataset of further problems to learn from; empty for none.
    start: str


@dataclass(frozen=True, kw_only=True)
class Improvement:
    rounds: ImprovementFolder
    # None if the writer has no weights to train.
    school: WriterTraining | None
    # Writes a round's problems into a folder, with the base or an adapter on top of it.
    write: Callable[[int, Path | None, Path], None]
    # Receives the progress of a round.
    tell: Callable[[int, str], None]

    def run(self, rounds: int, identity: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the untrained writer, then so many rounds of training and writing; returns the report."""
        if self.school and self.school.settings.tune != "lora":
            raise Failure(f"tune: {self.school.settings.tune} makes no adapter: use tune: lora")
        with self.rounds.opened(identity):
            done = self.rounds.done() or [self._round([])]
            while len(done) <= rounds:
                if ended := self._no_progress(done):
                    return self.rounds.report(done, ended)
                self.rounds.report(done, "")
                done.append(self._round(done))
            return self.rounds.report(done, "")

    def _round(self, done: Sequence[RoundResult]) -> RoundResult:
        folder = self.rounds.round(len(done))
        try:
            trained = self._train(folder, done) if self.school and done else {}
            outcome = self._write_round(folder, done, trained)
        except Diverged as diverged:
            learned = Dataset(folder.data).count()
            outcome = RoundResult(round=folder.number, learned=learned, figures=None, remark=f"diverged: {diverged}")
        folder.write(OUTCOME, outcome)
        self.tell(folder.number, outcome.remark)
        return outcome

    def _train(self, folder: RoundFolder, done: Sequence[RoundResult]) -> Mapping[str, Any]:
        """Trains from the base each time, so that the errors of earlier rounds do not persist."""
        assert self.school
        if not folder.data.exists():
            datasets = self._datasets(done)
            fresh = set[str]().union(*self._fresh(datasets))
            self.tell(folder.number, f"freezing {len(fresh)} problems")
            found = (one for data in datasets for one in conversations(data) if one.id in fresh)
            # The writer learns the prompts that it is asked with, whatever those of the first problems were.
            asked = Dataset(self.rounds.round(done[0].round).written).prompts
            written = (_with_prompts(one, asked) for one in found)
            freeze(written, folder.data, {"datasets": [digest_of(data) for data in datasets]})
        school = self.school
        job = Job(settings=school.settings, base=school.base, data=str(folder.data), folder=folder.training)
        training = TrainingFolder(job)
        if not training.report():
            self.tell(folder.number, "training")
            school.train(job)
        return training.report()

    def _write_round(self, folder: RoundFolder, done: Sequence[RoundResult], trained: Mapping[str, Any]) -> RoundResult:
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
        return replace(outcome, remark=self._remark(outcome, done))

    def _remark(self, outcome: RoundResult, done: Sequence[RoundResult]) -> str:
        if not done:
            return AS_IT_WAS
        return outcome.beside(best(done)) if self.school else UNTRAINED

    def _no_progress(self, done: Sequence[RoundResult]) -> str:
        """Returns why another training would repeat the last one, or an empty string."""
        if self.school is None:
            return ""
        found = sum(map(len, self._fresh(self._datasets(done))))
        if not found:
            return "no problems were kept to learn from: use --start, or a base that writes better"
        if found == done[-1].learned:
            return f"round {done[-1].round} added no new problems to learn from"
        return ""

    def _datasets(self, done: Sequence[RoundResult]) -> list[str]:
        """Returns the datasets to learn from: the start, and every round with accepted problems."""
        start = [self.school.start] if self.school and self.school.start else []
        return start + [
            str(self.rounds.round(one.round).written) for one in done if one.figures and one.figures["kept"]
        ]

    def _fresh(self, datasets: Sequence[str]) -> list[set[str]]:
        """Returns the problems of each dataset that repeat no earlier problem."""
        questions = [
            (place, one.id, one.problem.question) for place, data in enumerate(datasets) for one in conversations(data)
        ]
        fresh: list[set[str]] = [set() for _ in datasets]
        repeated = repeats(question for *_, question in questions)
        for (place, id, _), is_repeated in zip(questions, repeated, strict=True):
            if not is_repeated:
                fresh[place].add(id)
        return fresh


def _with_prompts(conversation: Conversation, prompts: Mapping[str, str]) -> Conversation:
    conversation.run.ClearField("prompts")
    conversation.run.prompts.update(prompts)
    return conversation
