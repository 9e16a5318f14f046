"""Counts over the collected conversations of a run."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


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

    def add(self, record: dict[str, Any], *, accepted: bool) -> None:
        self.accepted += accepted
        self.rejected += not accepted
        if enrichment := record["problem"].get("enrichment"):
            self.enrichment["plain" if enrichment["plain_because"] else "detailed"] += 1
        for turn in record["turns"]:
            soliloquy = turn["soliloquy"]
            self.turns += 1
            self.python_turns += soliloquy["use_python"]
            self.executions.update(attempt["status"] for attempt in soliloquy["attempts"])
            self.parse.update(call["outcome"] for call in turn["calls"])
            if soliloquy["agrees"] is not None:
                self.verdicts["agree" if soliloquy["agrees"] else "contradict"] += 1

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
        }
