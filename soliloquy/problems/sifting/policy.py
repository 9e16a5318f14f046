"""The rules of `policy.toml`."""

from dataclasses import dataclass

from soliloquy.runtime.beside import table_beside


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


_POLICY = table_beside(__file__, "policy.toml")

DUPLICATES = DuplicatePolicy(**_POLICY["duplicates"])
TRAIN_SHARE: float = _POLICY["split"]["train"]
SOLVE_RATE = SolveRatePolicy(**_POLICY["solve_rate"])
