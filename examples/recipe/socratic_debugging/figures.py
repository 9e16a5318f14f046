"""Figures of a dataset beside those of a class: how soon a bug is found."""

from soliloquy.dataset.figures import Figures
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tables import share


def _beside(kept: Statistics, rejected: Statistics) -> list[tuple[str, str, str]]:
    found = kept.labels["conversation.found"]["yes"]
    whole = kept.conversations + rejected.conversations
    return [("bugs found by the student", share(found, whole), "every bug"), *_by_kind(kept)] if found else []


def _by_kind(kept: Statistics) -> list[tuple[str, str, str]]:
    kinds = kept.labels["conversation.bug"]
    return [(f"about {kind}", share(count, kept.conversations), "25 %") for kind, count in sorted(kinds.items())]


FIGURES = Figures(paper="our plan", beside=_beside, note="The plan is a quarter of each kind of bug.")
