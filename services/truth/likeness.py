"""How alike the conversations of a dataset are in wording."""

import re
import tomllib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rensa import RMinHash, RMinHashLSH

POLICY = tomllib.loads(Path(__file__).with_name("likeness.toml").read_text("utf-8"))
# Of the sketches, so that the same dataset is always measured alike.
_SEED = 7
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d]\w*")
_NUMBER = "#"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    one: str
    other: str
    # The common share of their runs of words.
    likeness: float


class Likeness:
    """Takes one conversation after the other, and knows the most alike pair so far."""

    def __init__(self) -> None:
        sketch = POLICY["bands"] * POLICY["rows"]
        self._index = RMinHashLSH(POLICY["alike"], sketch, POLICY["bands"])
        self._sketch_size = sketch
        self._names: list[str] = []
        # As hashes, a tenth of what the words would take.
        self._kept: list[array[int]] = []
        self.alike: list[Pair] = []
        self.closest: Pair | None = None

    @property
    def compared(self) -> int:
        return len(self._kept)

    def add(self, name: str, texts: Sequence[str]) -> None:
        if len(self._kept) == POLICY["most"]:
            return
        words = shingles(texts)
        sketch = RMinHash(self._sketch_size, _SEED)
        sketch.update(list(words))
        hashes = {hash(each) for each in words}
        for other in self._candidates(sketch):
            likeness = _jaccard(hashes, self._kept[other])
            is_closest = self.closest is None or likeness > self.closest.likeness
            if is_closest or likeness >= POLICY["alike"]:
                pair = Pair(one=self._names[other], other=name, likeness=likeness)
                self.closest = pair if is_closest else self.closest
                self.alike += [pair] if likeness >= POLICY["alike"] else []
        self._index.insert(len(self._kept), sketch)
        self._names.append(name)
        self._kept.append(array("q", hashes))

    def _candidates(self, sketch: RMinHash) -> Iterable[int]:
        if len(self._kept) < POLICY["each_with_each"]:
            return range(len(self._kept))
        return sorted(self._index.query(sketch))


def shingles(texts: Sequence[str]) -> set[str]:
    """The runs of words within each of the texts."""
    return set(chain.from_iterable(map(_runs, texts)))


def _runs(text: str) -> Iterable[str]:
    words = [_NUMBER if word[0].isdigit() else word for word in _TOKEN.findall(text.casefold())]
    size = POLICY["shingle"]
    return (" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1)))


def _jaccard(hashes: set[int], others: "array[int]") -> float:
    common = len(hashes.intersection(others))
    return common / max(1, len(hashes) + len(others) - common)
