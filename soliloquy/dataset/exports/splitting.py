"""Parts of an export, such as train and test: all of a problem's conversations are in the same one."""

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
    """What was written for the shares cannot be meant; the message says how they are written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits:
    """Whichever other problems there are, a problem stays where its own hash puts it."""

    of: Mapping[str, float]

    @classmethod
    def read(cls, text: str) -> Self:
        """From `train=0.9,test=0.1`."""
        shares: dict[str, float] = {}
        for piece in text.split(","):
            named = _SHARE.fullmatch(piece)
            if named is None or named[1] in shares:
                raise InvalidSplits(f"{piece!r} is no share of its own: write NAME=SHARE,.. as in train=0.9,test=0.1")
            shares[named[1]] = float(named[2])
        if not isclose(sum(shares.values()), 1, abs_tol=1e-9):
            raise InvalidSplits(f"the shares {text!r} come to {sum(shares.values()):g}: they must come to 1")
        return cls(of=shares)

    def part(self, problem: str) -> str:
        place = seed("export", problem) / _RANGE
        ends = zip(self.of, accumulate(self.of.values()), strict=True)
        # What rounding leaves beyond the last end belongs to the last part that has a share.
        return next((name for name, end in ends if place < end), max(self.of, key=lambda name: self.of[name] > 0))
