"""The limits of policy.toml."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from soliloquy.problems.sifting.sampling import DUPLICATES
from soliloquy.runtime.files import table_beside


@dataclass(frozen=True, kw_only=True, slots=True)
class ContaminationPolicy:
    words: int
    share: float
    shortest: int


_POLICY = table_beside(__file__, "policy.toml")

CONTAMINATION = ContaminationPolicy(**_POLICY["contamination"])
EDGES: Sequence[int] = _POLICY["length"]["edges"]
TASK_ROWS: int = _POLICY["job"]["rows"]


def as_json() -> dict[str, Any]:
    """Returns all that decides what is dropped, for the manifest."""
    return {**_POLICY, "duplicates": asdict(DUPLICATES)}
