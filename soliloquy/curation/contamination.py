"""Finds the texts of benchmarks in conversations, by runs of words in which numbers of equal value are the same."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soliloquy.curation.policy import CONTAMINATION
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import ANY_ROWS
from soliloquy.runtime.failure import Failure
from soliloquy.texts.ngrams import Hashes, hashes_of, is_number, runs, tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmarks:
    """The runs of words of all texts, sorted, each with its text's number."""

    runs: Hashes
    owners: npt.NDArray[np.int64]
    # By the number of a text.
    sizes: Sequence[int]
    numbers: Sequence[frozenset[str]]
    places: Sequence[str]

    def found_in(self, words: Sequence[str], hashes: Hashes) -> str:
        """Names a text that a conversation of these words holds, with the share; empty if it holds none."""
        held = runs(hashes, CONTAMINATION.words)
        first, last = (np.searchsorted(self.runs, held, side) for side in ("left", "right"))
        spans = [self.owners[first[at] : last[at]] for at in np.flatnonzero(first < last)]
        if not spans:
            return ""
        numbers = {*filter(is_number, words)}
        for text, count in Counter(np.concatenate(spans).tolist()).items():
            share = count / self.sizes[text]
            if share >= CONTAMINATION.share and self.numbers[text] <= numbers:
                return f"{self.places[text]}: {share:.0%} of its runs of {CONTAMINATION.words} words"
        return ""


def read_benchmarks(files: Iterable[Path]) -> Benchmarks:
    """Reads every long enough text of every row; raises Failure for a file or row that cannot be read."""
    found: list[Hashes] = []
    numbers, places = list[frozenset[str]](), list[str]()
    for file in files:
        before = len(found)
        for row in ANY_ROWS.rows(file):
            if isinstance(row, RefusedRow):
                raise Failure(f"benchmark {row}: correct the row, or remove it")
            for text in _texts(row.cells):
                if len(words := tokens(text)) >= CONTAMINATION.shortest:
                    found.append(runs(hashes_of(words), CONTAMINATION.words))
                    numbers.append(frozenset(filter(is_number, words)))
                    places.append(row.place)
        if len(found) == before:
            least = CONTAMINATION.shortest
            raise Failure(f"benchmark {file} has no text of {least} words: use a file with a problem in each row")
    every = np.concatenate([np.empty(0, np.uint64), *found])
    order = np.argsort(every)
    owners = np.repeat(np.arange(len(found)), [len(each) for each in found])
    sizes = [len(each) for each in found]
    return Benchmarks(runs=every[order], owners=owners[order], sizes=sizes, numbers=numbers, places=places)


def _texts(value: Any) -> Iterator[str]:
    """Yields the texts of a cell, which may hold lists and objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
