"""What the checked turns of a dataset come to."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedTurn:
    """What is said of one turn: by its labels, and by the check."""

    # Whether the student was to err, and did; None where its reply is neither right nor wrong.
    meant_wrong: bool | None
    right: bool | None
    # The recipe's labels of the reply: "evaluation a", "action 3".
    codes: Sequence[str]
    reply: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    turns: Sequence[CheckedTurn]
    faults: Sequence[str]


@dataclass(kw_only=True)
class Report:
    conversations: int = 0
    turns: int = 0
    answers: int = 0
    meant_wrong: int = 0
    found_wrong: int = 0
    unlike_meant: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)
    _entropy: float = 0.0

    def add(self, conversation: str, checked: Checked) -> None:
        self.conversations += 1
        for turn in checked.turns:
            self.turns += 1
            self._entropy += bigram_entropy(turn.reply)
            self.codes.update(turn.codes)
            if turn.meant_wrong is None:
                continue
            self.answers += 1
            self.meant_wrong += turn.meant_wrong
            self.found_wrong += turn.right is False
            self.unlike_meant += turn.right is not None and turn.right == turn.meant_wrong
        self.rules.update(fault.partition(":")[0] for fault in checked.faults)
        self.faults += [(conversation, fault) for fault in checked.faults]

    def as_json(self) -> dict[str, Any]:
        return {
            "figures": {
                "conversations": self.conversations,
                "turns": self.turns,
                "student_replies": self.answers,
                "meant_wrong_share": self.meant_wrong / max(self.answers, 1),
                "found_wrong_share": self.found_wrong / max(self.answers, 1),
                "unlike_meant": self.unlike_meant,
                "bigram_entropy": self._entropy / max(self.turns, 1),
                "faults": len(self.faults),
            },
            "codes": dict(sorted(self.codes.items())),
            "rules": dict(sorted(self.rules.items())),
            "faults": [{"conversation": name, "fault": fault} for name, fault in self.faults],
        }


def bigram_entropy(text: str) -> float:
    """In bits: how varied the pairs of neighbouring words of one message are."""
    words = _WORD.findall(text.casefold())
    pairs = Counter(pairwise(words))
    total = sum(pairs.values())
    return -sum(count / total * math.log2(count / total) for count in pairs.values()) if total else 0.0
