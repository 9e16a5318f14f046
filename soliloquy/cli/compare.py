from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON, EXISTING_FOLDER
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import answer
from soliloquy.dataset.manner import SPEAKERS, Manner
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.telling_apart import LEAST, ToldApart, tell_apart
from soliloquy.runtime.failure import Failure

# The features that give one away most.
_SHOWN = 12


@click.command(cls=Command)
@click.argument("ours", metavar="DIR", type=EXISTING_FOLDER)
@click.argument("theirs", metavar="DIR", type=EXISTING_FOLDER)
def compare(ours: Path, theirs: Path, *, as_json: bool = AS_JSON) -> None:
    """Compare how people talk in two datasets, and tell them apart.

    Prints measures of variety, uptake, repetition and causes of mistakes side by side, and what students do after each
    act of a tutor. A linear model learns to tell conversations of the first from the second: its accuracy is of
    conversations that it has not seen, and the features with most weight are what gives them away. `soliloquy import`
    makes a dataset of other people's conversations.
    """
    sides = [_manner(folder) for folder in (ours, theirs)]
    told = tell_apart(*(side.talks for side in sides))
    answer(_as_json(sides, told), _shown((str(ours), str(theirs)), sides, told), as_json=as_json)


def _shown(folders: tuple[str, str], sides: list[Manner], told: ToldApart | None) -> Iterator[object]:
    yield table("", *folders, rows=_rows(sides), align="left")
    for folder, side in zip(folders, sides, strict=True):
        heads = (f"after the tutor's, in {folder}", "answers", "asks", "neither")
        yield table(*heads, rows=side.reactions(), align="left")
    if told is None:
        yield f"Too few conversations to tell them apart: {LEAST} of each are required."
        return
    yield f"Told apart, unseen: {told.accuracy:.1%} right (chance 50%), area under the curve {told.auc:.3f}"
    features = [(one.name, f"{one.weight:+.2f}", f"{one.ours:.2f}", f"{one.theirs:.2f}") for one in told.features]
    yield table("what gives them away", "weight", *folders, rows=features[:_SHOWN], align="left")


def _manner(folder: Path) -> Manner:
    found = Manner()
    for batch in Dataset(folder).batches():
        found.add(batch)
    if not found.is_spoken:
        raise Failure(f"{folder} holds no conversation in which anybody speaks")
    return found


def _rows(sides: list[Manner]) -> list[list[str]]:
    """Returns a row for each measure that either dataset has."""
    size = min(len(side.talks) for side in sides)
    found = [dict(side.figures()) for side in sides]
    names = list(dict.fromkeys(name for figures in found for name in figures))
    rows = [[name, *(figures.get(name, "") for figures in found)] for name in names]
    counted = ["conversations", *(f"{len(side.talks):,}" for side in sides)]
    return [counted, [f"different openings of {size:,}", *(f"{side.openings(size):.2f}" for side in sides)], *rows]


def _as_json(sides: list[Manner], told: ToldApart | None) -> dict[str, Any]:
    size = min(len(side.talks) for side in sides)
    return {
        "datasets": [
            {
                "conversations": len(side.talks),
                "openings": side.openings(),
                "openings_at_equal_size": side.openings(size),
                "variety": {one: side.variety(one) for one in SPEAKERS},
                "uptake": side.uptake(),
                "repetition": side.repetition(),
                "verbatim": side.verbatim(),
                "causes": side.causes(),
                "after": side.after(),
                "words_by_turn": {one: side.words_by_turn(one) for one in SPEAKERS},
            }
            for side in sides
        ],
        "told_apart": asdict(told) if told else None,
    }
