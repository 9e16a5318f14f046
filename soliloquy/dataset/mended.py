"""Counts the answers that went back and the turns that were taken back, and what they cost."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow.compute as pc

from soliloquy.dataset.columns import below
from soliloquy.runtime.arrow import pa

_TOKENS = {"prompt": "prompt_tokens", "completion": "completion_tokens"}


class MendingCounts(NamedTuple):
    # Answers that went back, by role and rule: "composer: steps".
    sent_back: Counter[str]
    # Turns with an answer that went back, by its role.
    mended: Counter[str]
    # Times that turns were taken back, by rule.
    rewinds: Counter[str]
    # Tokens of both: prompt and completion.
    mending: Counter[str]


def mending_counts(batch: pa.RecordBatch) -> MendingCounts:
    counts = MendingCounts(Counter(), Counter(), Counter(), Counter())
    rewinds = pc.list_flatten(batch["rewinds"])
    counts.rewinds.update(below(rewinds, "rule").to_pylist())
    for turn in _with_tries(pc.list_flatten(batch["turns"])):
        counts.mended.update({one["role"] for one in turn["rejected"]})
        counts.sent_back.update(f"{one['role']}: {one['rule']}" for one in turn["rejected"])
        for place in {place for one in turn["rejected"] for place in one["calls"]}:
            _add_tokens(counts.mending, turn["calls"][place])
    for turn in below(rewinds, "turns").to_pylist():
        counts.sent_back.update(f"{one['role']}: {one['rule']}" for one in turn["rejected"])
        for call in turn["calls"]:
            _add_tokens(counts.mending, call)
    return counts


def _with_tries(turns: pa.Array) -> Iterator[dict[str, Any]]:
    lists = pc.struct_field(turns, "rejected")
    if len(lists.flatten()):
        yield from turns.filter(pc.greater(pc.fill_null(pc.list_value_length(lists), 0), 0)).to_pylist()


def _add_tokens(used: Counter[str], call: dict[str, Any]) -> None:
    used.update({kind: call[name] for kind, name in _TOKENS.items()})
