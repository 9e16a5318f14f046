"""By the words before it, a number is known as a result, or as no quantity at all."""

import re
import tomllib
from pathlib import Path

_CUES = tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf-8"))
_VERBS, _HEDGES = "|".join(_CUES["states"]), "|".join(_CUES["hedges"])
STATES = re.compile(rf"(?:[=≈≅~→]|\\approx|\b(?:{_VERBS}))[\s:(]*(?:(?:{_HEDGES}) )*\W{{0,3}}$", re.IGNORECASE)
LABELS = re.compile(rf"(?:\b(?:{'|'.join(_CUES['labels'])})|#)\s*$", re.IGNORECASE)
# As many characters of what stands before a number tell.
BEFORE = 32
