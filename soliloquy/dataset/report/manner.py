"""Draws how students and tutors talk."""

from collections.abc import Iterator
from html import escape

from soliloquy.dataset.manner import REACTIONS, Manner
from soliloquy.dataset.report.plots import bars, card, shares

# The most frequent acts of the tutor.
_MOST_ACTS = 6


def manner(found: Manner) -> Iterator[str]:
    if not (figures := found.figures()):
        return
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in figures)
    gist = f"in the first {len(found.talks):,} conversations; runs of words are compared within ten of them"
    yield card("How they talk", gist, f"<dl>{listed}</dl>", wide=True)
    acts = sorted(found.after().items(), key=lambda row: -row[1].total())[:_MOST_ACTS]
    body = "".join(
        bars(shares({name: did[name] for name in REACTIONS if did[name]}, did.total()), title=f"{act}: {did.total():,}")
        for act, did in acts
    )
    if body:
        yield card(
            "What students do next", "after each act of the tutor: the message holds a number, asks, or neither", body
        )
