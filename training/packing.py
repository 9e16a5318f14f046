"""Packs samples into rows in which no sample sees another, and in which a beginning that several share stands once.

The samples of a conversation begin alike: with the rules of a prompt, then with what was said. Tokens at a place depend
only on those before it, so that a shared beginning is computed once, and learns from all samples that follow it.
"""

import bisect
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch

# Samples are sorted and fitted within windows of so many; over all samples it would be slow and no better.
WINDOW = 8192
# Samples that share less of what they hold are packed as strangers, wherever they fit best.
_KIN = 0.25


class Row(NamedTuple):
    """Packed samples as model input."""

    ids: "torch.Tensor"
    positions: "torch.Tensor"
    # The positions whose next token is learned, and those tokens.
    at: "torch.Tensor"
    targets: "torch.Tensor"
    # Where the tokens begin that each sample adds to the row, and the end of the row.
    borders: "torch.Tensor"
    # The places of each whole sample, one after the other, and where each begins among them, and their end.
    places: "torch.Tensor"
    ends: "torch.Tensor"

    def asked(self) -> dict[str, Any]:
        """Returns what a model with packed attention is called with."""
        return {
            "input_ids": self.ids,
            "position_ids": self.positions,
            "borders": self.borders,
            "places": self.places,
            "ends": self.ends,
            # The other logits are not needed, and would take most of the memory.
            "logits_to_keep": self.at,
            "use_cache": False,
        }


def pack(
    samples: Sequence[int], ids: Callable[[int], np.ndarray], capacity: int, draw: random.Random
) -> list[list[int]]:
    """Assigns samples to rows, of which each computes at most `capacity` tokens.

    Samples that begin alike come together; such bundles are fitted, longest first, within windows of a random order.
    """
    order = list(samples)
    draw.shuffle(order)
    packed: list[list[int]] = []
    for start in range(0, len(order), WINDOW):
        bundles, lengths = _bundles(order[start : start + WINDOW], ids, capacity)
        packed += [[sample for at in one for sample in bundles[at]] for one in _fitted(lengths, capacity)]
    return packed


def computed(samples: Sequence[np.ndarray]) -> int:
    """Returns the tokens of a row of these samples."""
    return sum(map(len, samples)) - sum(shared(*both) for both in pairwise(samples))


def shared(one: np.ndarray, other: np.ndarray) -> int:
    """Returns the number of tokens with which both begin."""
    length = min(len(one), len(other))
    (different,) = np.nonzero(one[:length] != other[:length])
    return int(different[0]) if len(different) else length


def padded(row: Row, length: int) -> Row:
    """Returns the row with so many tokens: what is added is one more sample, of which nothing is learned."""
    import torch
    from torch.nn.functional import pad

    have = row.ids.shape[1]
    added = torch.arange(have, length)
    return row._replace(
        ids=pad(row.ids, (0, len(added))),
        positions=pad(row.positions, (0, len(added))),
        borders=pad(row.borders, (0, 1), value=length),
        places=torch.cat([row.places, added]),
        ends=pad(row.ends, (0, 1), value=len(row.places) + len(added)),
    )


def _bundles(
    samples: Sequence[int], ids: Callable[[int], np.ndarray], capacity: int
) -> tuple[list[list[int]], list[int]]:
    """Returns bundles of samples that begin alike, those that share most side by side, and the tokens of each."""
    # Big-endian bytes are in the order of the tokens.
    order = sorted(samples, key=lambda sample: ids(sample).astype(">i4").tobytes())
    bundles: list[list[int]] = []
    lengths: list[int] = []
    before = np.empty(0, dtype=np.int32)
    for sample in order:
        tokens = ids(sample)
        same = shared(before, tokens)
        if same < _KIN * len(tokens) or lengths[-1] + len(tokens) - same > capacity:
            bundles.append([])
            lengths.append(same)
        bundles[-1].append(sample)
        lengths[-1] += len(tokens) - same
        before = tokens
    return bundles, lengths


def _fitted(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    packed: list[list[int]] = []
    # The free space of each row, ascending, with the row's number.
    room: list[tuple[int, int]] = []
    for bundle in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        at = bisect.bisect_left(room, (lengths[bundle], 0))
        left, number = room.pop(at) if at < len(room) else (capacity, len(packed))
        if number == len(packed):
            packed.append([])
        packed[number].append(bundle)
        bisect.insort(room, (left - lengths[bundle], number))
    return packed


def row(samples: Sequence[tuple[np.ndarray, np.ndarray]]) -> Row:
    """Builds a row from token ids and their learned marks; a sample shares with the one before it."""
    # It takes seconds to load, and most of what reads a dataset builds no row.
    import torch

    ids: list[np.ndarray] = []
    places: list[np.ndarray] = []
    at: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    borders = [0]
    before = own = np.empty(0, dtype=np.int64)
    for tokens, learned in samples:
        same = shared(before, tokens)
        own = np.concatenate([own[:same], np.arange(borders[-1], borders[-1] + len(tokens) - same)])
        # Nothing precedes the first token of a sample.
        (told,) = np.nonzero(learned[1:])
        ids.append(tokens[same:])
        places.append(own)
        at.append(own[told])
        targets.append(tokens[told + 1])
        borders.append(borders[-1] + len(tokens) - same)
        before = tokens
    positions = np.empty(borders[-1], dtype=np.int64)
    for one in places:
        positions[one] = np.arange(len(one))

    def joined(parts: Sequence[np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(parts).astype(np.int64))

    return Row(
        ids=joined(ids)[None],
        positions=torch.from_numpy(positions)[None],
        at=joined(at),
        targets=joined(targets),
        borders=torch.tensor(borders, dtype=torch.int32),
        places=joined(places),
        ends=torch.from_numpy(np.cumsum([0, *map(len, places)]).astype(np.int32)),
    )
