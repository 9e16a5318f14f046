"""How well a judge agrees with people: precision, recall and kappa, each with its 95 % interval."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soliloquy.annotation.agreement import Estimate, cohens_kappa, estimate
from soliloquy.annotation.intervals import wilson

Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How well one judge, such as a rule or a model, tells the items for which people say yes from the others."""

    # The question that people answered, or the set that the items are of.
    subject: str
    judge: str
    met: Flags
    said: Flags
    # None for a judge that says only yes or no.
    chances: NDArray[np.floating[Any]] | None = None

    @property
    def precision(self) -> Estimate:
        """The share of what the judge says that people say too."""
        return _share(self.met[self.said])

    @property
    def recall(self) -> Estimate:
        """The share of what people say that the judge says too."""
        return _share(self.said[self.met])

    @cached_property
    def kappa(self) -> Estimate:
        return estimate(np.stack([self.met, self.said], axis=1).astype(float), cohens_kappa)

    @property
    def balanced_accuracy(self) -> float:
        return float((self.said[self.met].mean() + (~self.said[~self.met]).mean()) / 2)

    @property
    def interval(self) -> float:
        """Half the width of the 95 % interval of the balanced accuracy."""
        found = self.said[self.met], ~self.said[~self.met]
        return 0.98 * float(np.sqrt(sum(one.mean() * (1 - one.mean()) / len(one) for one in found)))

    @property
    def roc_auc(self) -> float | None:
        """The probability that one for which people say yes ranks above one for which they say no."""
        if self.chances is None:
            return None
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.met, self.chances))

    def as_json(self) -> dict[str, Any]:
        has_both = self.met.any() and not self.met.all()
        return {
            "subject": self.subject,
            "judge": self.judge,
            "items": len(self.met),
            "by_people": int(self.met.sum()),
            "by_judge": int(self.said.sum()),
            **{name: asdict(getattr(self, name)) for name in ("precision", "recall", "kappa")},
            "balanced_accuracy": self.balanced_accuracy if has_both else None,
            "interval": self.interval if has_both else None,
            "roc_auc": self.roc_auc,
        }


def _share(outcomes: Flags) -> Estimate:
    low, high = wilson(int(outcomes.sum()), len(outcomes))
    return Estimate(value=float(outcomes.mean()) if len(outcomes) else None, low=low, high=high, items=len(outcomes))
