"""Figures of a dataset beside those of a class: how soon a bug is found."""

from soliloquy.dataset.figures import Figures
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tables import share


def _beside(kept: Statistics, rejected: Statistics) -> list[tuple[str, str, str]]:
    kinds = kept.labels["conversation.bug"]
    if not kinds:
        return []
    whole = kept.conversations + rejected.conversations
    rows = [("bugs found by the student", share(kept.labels["conversation.found"]["yes"], whole), "every bug")]
    return rows + [(f"about {kind}", share(kinds[kind], kept.conversations), "25 %") for kind in sorted(kinds)]


FIGURES = Figures(paper="our plan", beside=_beside, note="The plan is a quarter of each kind of bug.")
