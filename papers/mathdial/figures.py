"""Compares the figures of a dataset with table 1 of the MathDial paper."""

from soliloquy.dataset.figures import Figures
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tables import share
from soliloquy_papers.mathdial.published import PUBLISHED

_DATA, _RESOLVED = PUBLISHED["data"], PUBLISHED["resolved"]
_MEASURES = (
    f"{_DATA['pairs']['whole']:,} in {_DATA['dialogues']['paper']:,} conversations",
    *(str(_DATA[measure]["paper"]) for measure in ("words", "entropy", "uptake")),
)


def _beside(kept: Statistics, _: Statistics) -> list[tuple[str, str, str]]:
    if not kept.words:
        return []
    rows = [(*row, there) for row, there in zip(kept.dialogue_measures(), _MEASURES, strict=True)]
    resolved = [f"{_RESOLVED[kind]['paper']:.0f} %" for kind in ("solved", "revealed")]
    rows += [(*row, there) for row, there in zip(kept.resolution_measures(), resolved, strict=False)]
    if moves := kept.labels["tutor.move"]:
        rows.append(
            (
                "replies with the move focus",
                share(moves["focus"], moves.total()),
                f"{PUBLISHED['moves']['focus']['paper']:.0f} %",
            )
        )
    return rows


FIGURES = Figures(
    paper="MathDial",
    beside=_beside,
    note="""\
MathDial's conversations are between teachers and a model. Bigram entropy, in bits, is the mean over the tutor's
utterances of the entropy of their pairs of neighbouring words. A trained model estimates MathDial's uptake; here it
is the mean share of a message's words, without function words, that its reply repeats.""",
)
