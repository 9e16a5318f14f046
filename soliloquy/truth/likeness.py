"""Measures how similar the conversations of a dataset are in wording."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

POLICY = tomllib.loads(Path(__file__).with_name("likeness.toml").read_text("utf-8"))
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d]\w*")
_NUMBER = "#"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    one: str
    other: str
    # The share of word runs that both have in common.
    likeness: float


class Likeness:
    """Compares each added conversation with the earlier ones, and keeps the most similar pair."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._sizes: list[int] = []
        # An index of the conversations that contain each run of words, which avoids comparing all pairs.
        self._saying: dict[int, list[int]] = {}
        self.alike: list[Pair] = []
        self.closest: Pair | None = None

    @property
    def compared(self) -> int:
        return len(self._names)

    def add(self, name: str, texts: Sequence[str]) -> None:
        if self.compared == POLICY["most"]:
            return
        runs = {hash(run) for run in shingles(texts)}
        common = Counter(chain.from_iterable(self._saying.get(run, ()) for run in runs))
        for other, shared in common.items():
            likeness = shared / (len(runs) + self._sizes[other] - shared)
            is_closest = self.closest is None or likeness > self.closest.likeness
            if is_closest or likeness >= POLICY["alike"]:
                pair = Pair(one=self._names[other], other=name, likeness=likeness)
                self.closest = pair if is_closest else self.closest
                self.alike += [pair] if likeness >= POLICY["alike"] else []
        for run in runs:
            self._saying.setdefault(run, []).append(self.compared)
        self._names.append(name)
        self._sizes.append(len(runs))


def shingles(texts: Sequence[str]) -> set[str]:
    """Returns the runs of words within each text."""
    return set(chain.from_iterable(map(_runs, texts)))


def _runs(text: str) -> Iterable[str]:
    words = [_NUMBER if word[0].isdigit() else word for word in _TOKEN.findall(text.casefold())]
    size = POLICY["shingle"]
    return (" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1)))
