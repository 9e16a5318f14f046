"""Counts the answers that stood at the first try, those that went back or were taken back, and their tokens."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from soliloquy.dataset.answer_fates import SENT_BACK, STANDS, TAKEN_BACK, is_read_at_once, tries
from soliloquy.dataset.columns import below, value_counts
from soliloquy.runtime.arrow import pa

_KINDS = ("prompt", "completion")
# The role and the model that answered.
Answerer = tuple[str, str]


@dataclass(kw_only=True)
class MendingCounts:
    # Answers that went back, by role and rule, also in turns that were taken back.
    sent_back: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Turns that stand with an answer that went back, and such answers' roles.
    mended_turns: int = 0
    mended: Counter[str] = field(default_factory=Counter)
    # Times that turns were taken back, by rule.
    rewinds: Counter[str] = field(default_factory=Counter)
    # Tokens by prompt, what became of the answer, and prompt or completion.
    tokens: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    # First tries, and those of them that stood.
    first: Counter[Answerer] = field(default_factory=Counter)
    stood: Counter[Answerer] = field(default_factory=Counter)

    def add(self, batch: pa.RecordBatch) -> None:
        rewinds = pc.list_flatten(batch["rewinds"])
        self.rewinds.update(below(rewinds, "rule").to_pylist())
        self._add_turns(pc.list_flatten(batch["turns"]), STANDS)
        self._add_turns(below(rewinds, "turns"), TAKEN_BACK)

    def spent(self, *fates: str, prompt: str = "") -> int:
        """Returns the tokens of answers that came to this, to one prompt or to all."""
        return sum(count for (asked, fate, _), count in self.tokens.items() if fate in fates and prompt in ("", asked))

    def prompts(self) -> set[str]:
        return {prompt for prompt, _, _ in self.tokens}

    def mending_tokens(self) -> Counter[str]:
        """Returns the tokens of all that does not stand: prompt and completion."""
        spent = Counter[str]()
        for (_, fate, kind), count in self.tokens.items():
            if fate != STANDS:
                spent[kind] += count
        return spent

    def _add_turns(self, turns: pa.Array, fate: str) -> None:
        has_tries = pc.greater(pc.fill_null(pc.list_value_length(pc.struct_field(turns, "rejected")), 0), 0)
        calls = below(turns.filter(pc.invert(has_tries)), "calls")
        columns = [below(calls, name) for name in ("role", "model", "outcome")]
        for (role, model, outcome), count in value_counts(*columns).items():
            self.first[role, model] += count
            self.stood[role, model] += count * is_read_at_once(outcome)
        used = {kind: below(calls, f"{kind}_tokens") for kind in _KINDS}
        spent = pa.table({"asked": below(calls, "prompt"), **used}).group_by("asked", use_threads=False)
        for row in spent.aggregate([(kind, "sum") for kind in _KINDS]).to_pylist():
            self.tokens.update({(row["asked"], fate, kind): row[f"{kind}_sum"] for kind in _KINDS})
        for turn in turns.filter(has_tries).to_pylist():
            self._add_mended(turn["rejected"], turn["calls"], fate)

    def _add_mended(self, rejected: list[dict[str, Any]], calls: list[dict[str, Any]], fate: str) -> None:
        mended = {one["role"] for one in rejected}
        if fate == STANDS:
            self.mended_turns += 1
            self.mended.update(mended)
        self.sent_back.update((one["role"], one["rule"]) for one in rejected)
        back = {place for one in rejected for place in one["calls"]}
        for place, call in enumerate(calls):
            became = SENT_BACK if place in back and fate == STANDS else fate
            self.tokens.update({(call["prompt"], became, kind): call[f"{kind}_tokens"] for kind in _KINDS})
        answers = [(call["role"], is_read_at_once(call["outcome"])) for call in calls]
        for place, stood in tries(answers, back, mended).items():
            answerer = calls[place]["role"], calls[place]["model"]
            self.first[answerer] += 1
            self.stood[answerer] += stood
