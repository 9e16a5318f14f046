"""Holds the word lists, limits and tolerances of the reader of calculations."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("arithmetic.toml").read_text("utf-8"))
WORDS: Mapping[str, Sequence[str]] = _TABLE["words"]
ASKING: Mapping[str, Any] = _TABLE["asking"]
ABOUT: Mapping[str, Any] = _TABLE["about"]
# Counts and halves, which need no source; as a result they have to be worked out.
COUNTS = frozenset([0, 1, 2, 3, 4, 0.5, 0.25, 0.75])
# In words: a third, one and a half, two fifths, an eighth.
PARTS = (0.2, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 0.8, 1.5, 0.25, 0.125)
# Nobody writes a longer calculation out; the time to read one grows with its square.
MOST_TOKENS, MOST_BRACKETS = 200, 30
# Words for what is counted, behind a number; shorter words are symbols.
MOST_NOUNS, SHORTEST_NOUN = 3, 3
EXACT = 1e-9
# Rounding changes a number by at most this share, and cutting digits off, or rounding up to whole buses, by less.
ROUNDED, CUT = 0.35, 0.13
# Two solutions of the same equation differ by at most this share, if one is rounded.
SOLUTION = 0.01
