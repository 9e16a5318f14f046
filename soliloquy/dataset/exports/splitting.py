"""Splits an export into parts such as train and test; all conversations about a problem are in the same part."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import isclose
from typing import Self

from soliloquy.runtime.seeds import seed

_SHARE = re.compile(r"\s*([A-Za-z][\w-]{0,40})\s*=\s*(\d*\.?\d+)\s*")
_RANGE = 2**64


class InvalidSplits(ValueError):
    """The value of --splits is invalid; the message shows the format."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits:
    """A problem's part depends only on its own hash, and not on the other problems."""

    of: Mapping[str, float]

    @classmethod
    def read(cls, text: str) -> Self:
        """Parses `train=0.9,test=0.1`."""
        shares: dict[str, float] = {}
        for piece in text.split(","):
            named = _SHARE.fullmatch(piece)
            if named is None or named[1] in shares:
                raise InvalidSplits(
                    f"invalid split {piece!r}: use NAME=SHARE,.. with different names, e.g. train=0.9,test=0.1"
                )
            shares[named[1]] = float(named[2])
        if not isclose(sum(shares.values()), 1, abs_tol=1e-9):
            raise InvalidSplits(f"invalid splits {text!r}: the shares add up to {sum(shares.values()):g}, not 1")
        return cls(of=shares)

    def part(self, problem: str) -> str:
        return self.part_at(place_of(problem))

    def part_at(self, place: int) -> str:
        position = place / _RANGE
        ends = zip(self.of, accumulate(self.of.values()), strict=True)
        # Rounding may leave a gap after the last end, which belongs to the last part that has a share.
        return next((name for name, end in ends if position < end), max(self.of, key=lambda name: self.of[name] > 0))


def place_of(problem: str) -> int:
    """Returns the hash that decides a problem's part, from 0 to 2**64 - 1."""
    return seed("export", problem)
