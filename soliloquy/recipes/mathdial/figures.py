"""Compares the figures of a dataset with table 1 of the MathDial paper."""

from soliloquy.dataset.figures import Figures
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tables import share

_PUBLISHED = ("14,197 in 2,861 conversations", "17.3", "3.54", "0.83")
_RESOLVED = ("75 %", "14 %")


def _beside(kept: Statistics, _: Statistics) -> list[tuple[str, str, str]]:
    if not kept.words:
        return []
    rows = [(*row, there) for row, there in zip(kept.dialogue_measures(), _PUBLISHED, strict=True)]
    rows += [(*row, there) for row, there in zip(kept.resolution_measures(), _RESOLVED, strict=False)]
    if moves := kept.labels["tutor.move"]:
        rows.append(("replies with the move focus", share(moves["focus"], moves.total()), "37 %"))
    return rows


FIGURES = Figures(
    paper="MathDial",
    beside=_beside,
    note="""\
MathDial's conversations are between teachers and a model. Bigram entropy, in bits, is the mean over the tutor's
utterances of the entropy of their pairs of neighbouring words. A trained model estimates MathDial's uptake; here it
is the mean share of a message's words, without function words, that its reply repeats.""",
)
