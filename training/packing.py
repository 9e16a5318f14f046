"""Samples put together into sequences, so that next to nothing is padding; none sees another."""

import bisect
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

# Within so many samples each is put where it fits best; over all, that would take long and fit no better.
WINDOW = 8192


class Row(NamedTuple):
    """Packed samples as a model takes them: one row, with where each sample begins."""

    ids: torch.Tensor
    positions: torch.Tensor
    # Positions whose next token is learned, and these tokens.
    at: torch.Tensor
    targets: torch.Tensor
    # Where the samples begin, and at last where the row ends.
    borders: torch.Tensor


def pack(lengths: Sequence[int], capacity: int, draw: random.Random) -> list[list[int]]:
    """Which samples go into one sequence: best fit, the longest first, within windows of a drawn order."""
    order = list(range(len(lengths)))
    draw.shuffle(order)
    packed = []
    for start in range(0, len(order), WINDOW):
        packed += _fitted(sorted(order[start : start + WINDOW], key=lambda at: -lengths[at]), lengths, capacity)
    return packed


def _fitted(samples: Sequence[int], lengths: Sequence[int], capacity: int) -> list[list[int]]:
    packed: list[list[int]] = []
    # What is left in each, ascending, with its number.
    room: list[tuple[int, int]] = []
    for sample in samples:
        at = bisect.bisect_left(room, (lengths[sample], 0))
        left, number = room.pop(at) if at < len(room) else (capacity, len(packed))
        if number == len(packed):
            packed.append([])
        packed[number].append(sample)
        bisect.insort(room, (left - lengths[sample], number))
    return packed


def row(samples: Sequence[tuple[np.ndarray, np.ndarray]]) -> Row:
    """Of ids and which of them are learned."""
    lengths = [len(ids) for ids, _ in samples]
    borders = np.cumsum([0, *lengths])
    ids = np.concatenate([ids for ids, _ in samples]).astype(np.int64)
    learned = np.concatenate([learned for _, learned in samples]).astype(bool)
    # The first of a sample follows from nothing.
    learned[borders[:-1]] = False
    (targets,) = np.nonzero(learned)
    return Row(
        ids=torch.from_numpy(ids)[None],
        positions=torch.from_numpy(np.concatenate([np.arange(length) for length in lengths]))[None],
        at=torch.from_numpy(targets - 1),
        targets=torch.from_numpy(ids[targets]),
        borders=torch.from_numpy(borders.astype(np.int32)),
    )
