"""Counts over the collected conversations of a run."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

ANSWERED_BY = ("role", "engine", "model", "adapter_digest")


@dataclass
class Tally:
    """Everything but the time a run took; the same dataset always has the same tally."""

    accepted: int = 0
    rejected: int = 0
    # How many have a detailed solution, and how many were to have one and have the plain one.
    enrichment: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    python_turns: int = 0
    executions: Counter[str] = field(default_factory=Counter)
    parse: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=lambda: Counter(agree=0, contradict=0))
    # By role and kind; and by role, engine, model and adapter's digest, how many calls they answered.
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)
    answered: Counter[tuple[str, ...]] = field(default_factory=Counter)
    # Problems whose enrichment is among them: their conversations share it.
    enriched: set[str] = field(default_factory=set)

    def add(self, record: dict[str, Any], *, accepted: bool) -> None:
        self.accepted += accepted
        self.rejected += not accepted
        if enrichment := record["problem"].get("enrichment"):
            self.enrichment["plain" if enrichment["plain_because"] else "detailed"] += 1
            if record["problem"]["id"] not in self.enriched:
                self.enriched.add(record["problem"]["id"])
                for call in enrichment["calls"]:
                    self._add_call(call)
        for turn in record["turns"]:
            soliloquy = turn["soliloquy"]
            self.turns += 1
            self.python_turns += soliloquy["use_python"]
            self.executions.update(attempt["status"] for attempt in soliloquy["attempts"])
            for call in turn["calls"]:
                self._add_call(call)
            if soliloquy["agrees"] is not None:
                self.verdicts["agree" if soliloquy["agrees"] else "contradict"] += 1

    def _add_call(self, call: dict[str, Any]) -> None:
        self.parse[call["outcome"]] += 1
        for kind, number in zip(("prompt", "completion"), call["tokens"], strict=True):
            self.tokens[call["role"], kind] += number
        self.answered[tuple(call[name] for name in ANSWERED_BY)] += 1

    def as_json(self) -> dict[str, Any]:
        return {
            "accepted": self.accepted,
            "rejected": self.rejected,
            "enrichment": dict(sorted(self.enrichment.items())),
            "turns": self.turns,
            "python_turns": self.python_turns,
            "executions": dict(sorted(self.executions.items())),
            "parse": dict(sorted(self.parse.items())),
            "verdicts": dict(sorted(self.verdicts.items())),
            "tokens": {role: self._tokens(role) for role in sorted({role for role, _ in self.tokens})},
            "models": [
                dict(zip(ANSWERED_BY, names, strict=True)) | {"calls": number}
                for names, number in sorted(self.answered.items())
            ],
        }

    def _tokens(self, role: str) -> dict[str, int]:
        return {kind: self.tokens[role, kind] for kind in ("prompt", "completion")}
