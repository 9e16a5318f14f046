"""Packs samples into sequences with almost no padding; no sample attends to another."""

import bisect
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch

# Best fit runs within windows of this many samples; over all samples it would be slow and no better.
WINDOW = 8192


class Row(NamedTuple):
    """Packed samples as model input: one row, and where each sample begins."""

    ids: "torch.Tensor"
    positions: "torch.Tensor"
    # The positions whose next token is learned, and those tokens.
    at: "torch.Tensor"
    targets: "torch.Tensor"
    # The start of each sample, and the end of the row.
    borders: "torch.Tensor"


def pack(lengths: Sequence[int], capacity: int, draw: random.Random) -> list[list[int]]:
    """Assigns samples to sequences: best fit, longest first, within windows of a random order."""
    order = list(range(len(lengths)))
    draw.shuffle(order)
    packed = []
    for start in range(0, len(order), WINDOW):
        packed += _fitted(sorted(order[start : start + WINDOW], key=lambda at: -lengths[at]), lengths, capacity)
    return packed


def padded(row: Row, length: int) -> Row:
    """Returns the row with so many tokens: what is added is one more sample, of which nothing is learned."""
    from torch.nn.functional import pad

    missing = length - row.ids.shape[1]
    return row._replace(
        ids=pad(row.ids, (0, missing)),
        positions=pad(row.positions, (0, missing)),
        borders=pad(row.borders, (0, 1), value=length),
    )


def _fitted(samples: Sequence[int], lengths: Sequence[int], capacity: int) -> list[list[int]]:
    packed: list[list[int]] = []
    # The free space of each sequence, ascending, with the sequence's number.
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
    """Builds a row from token ids and their learned marks."""
    # It takes seconds to load, and most of what reads a dataset builds no row.
    import torch

    lengths = [len(ids) for ids, _ in samples]
    borders = np.cumsum([0, *lengths])
    ids = np.concatenate([ids for ids, _ in samples]).astype(np.int64)
    learned = np.concatenate([learned for _, learned in samples]).astype(bool)
    # Nothing precedes the first token of a sample.
    learned[borders[:-1]] = False
    (targets,) = np.nonzero(learned)
    return Row(
        ids=torch.from_numpy(ids)[None],
        positions=torch.from_numpy(np.concatenate([np.arange(length) for length in lengths]))[None],
        at=torch.from_numpy(targets - 1),
        targets=torch.from_numpy(ids[targets]),
        borders=torch.from_numpy(borders.astype(np.int32)),
    )
