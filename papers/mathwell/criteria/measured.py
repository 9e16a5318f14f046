"""How well a judge of word problems agrees with people."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from soliloquy_papers.mathwell.criteria.features import Array, Flags


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """How well one judge tells the problems that meet a criterion, or all of them, from the others."""

    # A criterion, "all", or who wrote these problems.
    subject: str
    judge: str
    met: Flags
    said: Flags
    # None for a judge that says only yes or no.
    chances: Array | None = None

    @property
    def balanced_accuracy(self) -> float:
        return float((self.said[self.met].mean() + (~self.said[~self.met]).mean()) / 2)

    @property
    def kept(self) -> float:
        """The share of those that meet it that the judge keeps."""
        return float(self.said[self.met].mean())

    @property
    def precision(self) -> float:
        return float(self.met[self.said].mean()) if self.said.any() else float("nan")

    @property
    def interval(self) -> float:
        """Half the width of the 95 % interval of the balanced accuracy."""
        shares = ((self.kept, self.met.sum()), (float((~self.said[~self.met]).mean()), (~self.met).sum()))
        return 0.98 * float(np.sqrt(sum(share * (1 - share) / count for share, count in shares)))

    @property
    def roc_auc(self) -> float | None:
        """The probability that one that meets it ranks above one that does not."""
        if self.chances is None:
            return None
        return float(roc_auc_score(self.met, self.chances))

    def as_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "judge": self.judge,
            "rows": len(self.met),
            "good": int(self.met.sum()),
            "balanced_accuracy": self.balanced_accuracy,
            "interval": self.interval,
            "roc_auc": self.roc_auc,
            "kept": self.kept,
            "precision": None if self.precision != self.precision else self.precision,
        }
