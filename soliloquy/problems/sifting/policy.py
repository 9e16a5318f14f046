"""The rules of `policy.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class DuplicatePolicy:
    shingle: int
    same: float
    recall: float
    most_bands: int
    most_rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SolveRatePolicy:
    edge: float
    below: float
    bin: float


_POLICY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("policy.toml").read_text("utf-8"))

DUPLICATES = DuplicatePolicy(**_POLICY["duplicates"])
TRAIN_SHARE: float = _POLICY["split"]["train"]
SOLVE_RATE = SolveRatePolicy(**_POLICY["solve_rate"])
