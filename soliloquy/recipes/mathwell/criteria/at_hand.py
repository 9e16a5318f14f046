"""The classifiers that a process was told of, by the digest of their file: by that a run names those it wants."""

from pathlib import Path
from typing import TYPE_CHECKING

from soliloquy.runtime.retry import Refused
from soliloquy.runtime.weights import digest_of

if TYPE_CHECKING:
    from soliloquy.recipes.mathwell.criteria.classifiers import Classifiers

_AT_HAND: dict[str, "Classifiers"] = {}


def bring(path: Path) -> None:
    """Has them at hand from here on; raises BadClassifiers."""
    from soliloquy.recipes.mathwell.criteria.classifiers import load

    _AT_HAND[digest_of([path])] = load(path)


def at_hand(digest: str) -> "Classifiers":
    if digest not in _AT_HAND:
        there = ", ".join(known[:12] for known in sorted(_AT_HAND)) or "none"
        raise Refused(
            f"the run wants the classifiers {digest[:12]}, and this composer has {there}: start it with --classifiers"
        )
    return _AT_HAND[digest]
