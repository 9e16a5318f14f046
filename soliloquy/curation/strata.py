"""Sorts conversations into classes, over which a selection is spread evenly."""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from soliloquy.curation.policy import EDGES
from soliloquy.dataset.exports.dialogue import Dialogue
from soliloquy.recipes.labels import Column, columns_of


def _length(dialogue: Dialogue) -> str:
    place = bisect(EDGES, len(dialogue.turns))
    first = EDGES[place - 1] if place else 0
    return f"{first} turns or more" if place == len(EDGES) else f"{first} to {EDGES[place] - 1} turns"


# The class of a conversation by each criterion; empty if its labels do not say.
STRATA: Mapping[str, Callable[[Dialogue], str]] = {
    "misconception": lambda dialogue: _most_common(dialogue, lambda column: column.misconception),
    "move": lambda dialogue: _most_common(dialogue, lambda column: column.response),
    "topic": lambda dialogue: dialogue.topic,
    "length": _length,
}


def _most_common(dialogue: Dialogue, is_wanted: Callable[[Column], bool]) -> str:
    """Returns the value that most turns have of the recipe's first such label that has any."""
    for name, column in columns_of(dialogue.recipe).items():
        if is_wanted(column) and (counted := Counter(_values(dialogue, name))):
            return min(counted, key=lambda value: (-counted[value], value))
    return ""


def _values(dialogue: Dialogue, name: str) -> Iterator[str]:
    for labels in (dialogue.labels, *(turn.labels for turn in dialogue.turns)):
        if value := labels.get(name):
            yield str(value)
