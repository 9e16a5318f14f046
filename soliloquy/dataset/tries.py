"""Counts which answers stood at the first try, which rules sent others back, and what that cost."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from soliloquy.dataset.columns import below, value_counts
from soliloquy.runtime.arrow import pa

_AT_ONCE = ("PARSE_OUTCOME_STRICT", "PARSE_OUTCOME_REPAIRED")
# The role and the model that answered.
Answerer = tuple[str, str]


@dataclass(kw_only=True)
class Tries:
    # Answers that were sent back, by role and rule.
    sent_back: Counter[tuple[str, str]] = field(default_factory=Counter)
    mended_turns: int = 0
    # Tokens of the answers that were sent back.
    tokens: int = 0
    # First tries, and those of them that stood.
    first: Counter[Answerer] = field(default_factory=Counter)
    stood: Counter[Answerer] = field(default_factory=Counter)

    def add(self, turns: pa.Array) -> None:
        has_tries = pc.greater(pc.fill_null(pc.list_value_length(pc.struct_field(turns, "rejected")), 0), 0)
        calls = below(turns.filter(pc.invert(has_tries)), "calls")
        for (role, model, outcome), count in value_counts(
            *(below(calls, name) for name in ("role", "model", "outcome"))
        ).items():
            self.first[role, model] += count
            self.stood[role, model] += count * (outcome in _AT_ONCE)
        for turn in turns.filter(has_tries).to_pylist():
            self._add_mended(turn["rejected"], turn["calls"])

    def _add_mended(self, rejected: list[dict[str, Any]], calls: list[dict[str, Any]]) -> None:
        self.mended_turns += 1
        self.sent_back.update((one["role"], one["rule"]) for one in rejected)
        back = {place for one in rejected for place in one["calls"]}
        mended = {one["role"] for one in rejected}
        for place, call in enumerate(calls):
            if place in back:
                self.tokens += call["prompt_tokens"] + call["completion_tokens"]
                continue
            answerer = call["role"], call["model"]
            self.first[answerer] += 1
            self.stood[answerer] += call["outcome"] in _AT_ONCE and call["role"] not in mended
            # The first answer that stands came after the one that was sent back.
            mended.discard(call["role"])
