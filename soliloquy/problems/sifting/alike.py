"""Finds texts that nearly repeat an earlier one among millions: sketches, bands that similar texts share, a search."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from rensa import RMinHash

from soliloquy.problems.sifting.sampling import DUPLICATES
from soliloquy.texts.ngrams import Hashes

Sketch = npt.NDArray[np.uint32]
# Seed of the sketches: the same texts always give the same result.
_SEED = 7
# Sets that are sketched at once.
_AT_ONCE = 1_000


def banding(threshold: float) -> tuple[int, int]:
    """Returns the bands and rows of the index: the most rows with enough recall, as rows cut false candidates."""
    for rows in range(DUPLICATES.most_rows, 1, -1):
        for bands in range(1, DUPLICATES.most_bands + 1):
            if 1 - (1 - threshold**rows) ** bands >= DUPLICATES.recall:
                return bands, rows
    return DUPLICATES.most_bands, 1


BANDS, _ROWS = banding(DUPLICATES.same)
_FACTORS = np.random.default_rng(_SEED).integers(0, 2**63, (BANDS, _ROWS + 1), np.uint64) * np.uint64(2) + np.uint64(1)


def band_keys(sets: Sequence[Hashes]) -> Hashes:
    """Returns a row of keys for each set of hashes; similar sets have the key of some band in common."""
    ends = np.cumsum([0, *map(len, sets)], dtype=np.uint64)
    flat = np.concatenate(sets) if sets else np.empty(0, np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(flat, ends, BANDS * _ROWS, _SEED)
    digests = np.array(matrix.to_rows(), np.uint64).reshape(len(sets), BANDS, _ROWS)
    # Bands with equal digests have different keys.
    mixed: Hashes = (digests * _FACTORS[:, 1:]).sum(axis=2, dtype=np.uint64) ^ _FACTORS[:, 0]
    return mixed


def sketch(hashes: Hashes) -> Sketch:
    """Returns the smallest of the sorted hashes of a set, by which two sets are compared; half of each is enough."""
    return (hashes[: DUPLICATES.sketch] >> np.uint64(32)).astype(np.uint32)


def similarity(one: Sketch, other: Sketch) -> float:
    """Returns the Jaccard index of two sets by their sketches: exact for sets that their sketches hold whole."""
    union = np.union1d(one, other)
    if max(len(one), len(other)) == DUPLICATES.sketch:
        union = union[: DUPLICATES.sketch]
    common = np.intersect1d(one, other, assume_unique=True)
    return float(np.searchsorted(common, union[-1], side="right")) / len(union)


def colliding(bands: Iterable[Hashes], rows: int) -> npt.NDArray[np.bool_]:
    """Marks the rows that share a key with another one; all others repeat nothing and need no search."""
    found = np.zeros(rows, np.bool_)
    for keys in bands:
        order = np.argsort(keys)
        same = keys[order[1:]] == keys[order[:-1]]
        found[order[1:][same]] = True
        found[order[:-1][same]] = True
    return found


class RepeatSearch:
    """Finds for each text the first one that it nearly repeats."""

    def __init__(self, *, chained: bool = False) -> None:
        """A text that repeats another is a match for later ones only if `chained`: A, B and C then count as one."""
        self._chained = chained
        # By the key of a band.
        self._rows: dict[int, list[int]] = {}
        self._sketches: dict[int, Sketch] = {}
        self._first: dict[int, int] = {}

    def add(self, row: int, keys: Hashes, sketched: Sketch) -> tuple[int, float]:
        """Returns the earlier row that this one repeats, and how similar it is; itself if it repeats none."""
        names = keys.tolist()
        held = [self._rows.get(name, ()) for name in names]
        # Similar texts share most bands.
        candidates = (other for other, _ in Counter(chain.from_iterable(held)).most_common(DUPLICATES.compared))
        scored = ((other, similarity(sketched, self._sketches[other])) for other in candidates)
        alike = (pair for pair in scored if pair[1] >= DUPLICATES.same)
        first = found = next(alike, (row, 1.0))
        if found[0] == row or self._chained:
            self._sketches[row], self._first[row] = sketched, row
            for name in names:
                self._rows.setdefault(name, []).append(row)
        if self._chained:
            self._join([row, found[0], *(other for other, _ in alike)])
            first = self.first(row), found[1]
        return first

    def first(self, row: int) -> int:
        """Returns the first row of those that count as one with it."""
        while self._first[row] != row:
            self._first[row] = row = self._first[self._first[row]]
        return row

    def _join(self, rows: Sequence[int]) -> None:
        roots = [self.first(row) for row in rows]
        for root in roots:
            self._first[root] = min(roots)


def repeated(sets: Sequence[Hashes]) -> list[bool]:
    """Tells of each set of hashes whether it is nearly the same as an earlier one that repeats none."""
    keys = [band_keys(sets[start : start + _AT_ONCE]) for start in range(0, len(sets), _AT_ONCE)]
    bands: Any = np.concatenate(keys) if keys else np.empty((0, BANDS), np.uint64)
    search, found = RepeatSearch(), [False] * len(sets)
    for row in np.flatnonzero(colliding(bands.T, len(sets))).tolist():
        found[row] = search.add(row, bands[row], sketch(sets[row]))[0] != row
    return found
