"""The queries of the documentation, and what they are to find in one store."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from soliloquy.dataset.iceberg.compaction import compact
from soliloquy.dataset.iceberg.tables import Location
from soliloquy.v1.conversation_pb2 import Conversation
from tests.unit.dataset.iceberg.catalogs import commit
from tests.unit.dataset.labelled import labelled
from tests.unit.dataset.small import small

PAGE = Path(__file__).parents[4] / "docs" / "datasets.md"
_BLOCK = re.compile(r"```sql\n(.*?)```", re.DOTALL)
QUERIES = [query.replace("25e5", "c5000") for query in _BLOCK.findall(PAGE.read_text("utf-8"))]


def _one(number: int, recipe: str) -> Conversation:
    made = labelled(small(number), recipe)
    made.run.id = f"run-{recipe}"
    made.turns[0].calls[0].prompt_tokens = 5
    return made


def filled(location: Location) -> Mapping[str, Mapping[str, int]]:
    """Writes runs of two recipes, some of it compacted; returns how many conversations of each kind a run has."""
    commit(location, [_one(1, "soliloquy"), _one(5000, "soliloquy")])
    commit(location, [_one(2, "soliloquy")])
    compact(location, 0.0)
    commit(location, [_one(3, "soliloquy"), _one(4, "soliloquy")], ["repeated: turn 2", "too long: turn 3"])
    commit(location, [_one(7, "mathdial")])
    return {"run-soliloquy": {"accepted": 3, "rejected": 2}, "run-mathdial": {"accepted": 1}}


# The result of each query, in the order of the page.
FOUND: Sequence[list[tuple[Any, ...]]] = [
    [("run-mathdial", "accepted", 1), ("run-soliloquy", "accepted", 3), ("run-soliloquy", "rejected", 2)],
    [("repeated", 2), ("too long", 2)],
    [("run-mathdial", 2, 1, 2.0), ("run-soliloquy", 6, 3, 2.0)],
    [("VERIFICATION_UNSPECIFIED", 8)],
    [("student", "scripted", "PARSE_OUTCOME_STRICT", 6, 30, 0)],
    [("MOVE_FOCUS", 1)],
    [
        (1, 'It\'s "12" m/s', "Not yet. What is divided by what?"),
        (2, "s by t, so 3 m/s", "Right, all done."),
    ],
]
