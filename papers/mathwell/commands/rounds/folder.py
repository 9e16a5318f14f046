"""The results of an improvement: of each round the writer, its training and the problems it wrote."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from soliloquy.dataset.reading import Dataset
from soliloquy_papers.mathwell.figures.authored import count_authored
from soliloquy_papers.mathwell.figures.problem_measures import cells
from soliloquy_training.evaluation.cases import wilson
from soliloquy_training.state import RoundsFolder, Workflow, write_json

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
