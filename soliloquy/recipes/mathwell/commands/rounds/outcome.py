"""The result of a round: the writer, its training and the problems it wrote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.mathwell.figures.authored import count_authored
from training.evaluation.shares import wilson

HEAD = (
    "round",
    "writer",
    "learned from",
    "loss",
    "held out",
    "asked",
    "executable %",
    "solvable %",
    "accurate %",
    "appropriate %",
    "all %",
    "kept %",
    "near-duplicates",
    "alike %",
    "operations",
    "reading grade",
    "New Dale-Chall",
    "",
)


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
        return [str(self.round), *trained, *self._written(), self.remark]

    def _written(self) -> Sequence[str]:
        if self.figures is None:
            return [""] * len(HEAD[5:-1])
        low, high = self.interval
        shares = (_cell(self.figures[name]) for name in ("executable", "solvable", "accurate", "appropriate", "all"))
        kept = f"{100 * self.share:.1f} ({100 * low:.0f} to {100 * high:.0f})"
        measures = ("near_duplicates", "self_similarity", "distinct_operations", "reading_grade", "dale_chall")
        rest = (_cell(self.figures[name]) for name in measures)
        return [str(self.figures["asked"]), *shares, kept, *rest]


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


def _cell(figure: Any) -> str:
    return "" if figure is None else str(figure)
