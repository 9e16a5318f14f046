"""Summarises the checked turns of a dataset, and how similar its conversations are in wording."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from soliloquy.texts.utterances import bigram_entropy, words
from soliloquy.v1.conversation_pb2 import VERIFICATION_NONE, VERIFICATION_UNSPECIFIED, Verification

# A fault with a turn reads "rule: turn N: evidence".
_LOCATED = re.compile(r"([^:]+): turn (\d+): (.+)", re.DOTALL)
LIKENESS = tomllib.loads(Path(__file__).with_name("likeness.toml").read_text("utf-8"))
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d]\w*")
_NUMBER = "#"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedTurn:
    """One turn's labels, and what the check found."""

    # Whether the student was meant to be wrong, and was right; None if nothing was drawn, or the message is neither.
    meant_wrong: bool | None
    right: bool | None
    # Whether the tutor's verdict is true; None if it gives none or nothing can be compared with it.
    verdict_true: bool | None
    # The recipe's labels of the reply, in its order: evaluation "a", action "1", state "q".
    codes: Mapping[str, str]
    # The basis of the tutor's verdict.
    verification: Verification
    message: str
    reply: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedConversation:
    turns: Sequence[CheckedTurn]
    faults: Sequence[str]
    # Asks the rules that do not condemn; a run has no use for what they find.
    find_marks: Callable[[], Sequence[str]] = list
    # The rules that could not be applied, each with what the conversation lacks.
    lacking: Mapping[str, str] = field(default_factory=dict)

    @property
    def marks(self) -> Sequence[str]:
        return self.find_marks()


def with_unverified(checked: CheckedConversation) -> CheckedConversation:
    """Adds a fault for each verdict that rests on nothing."""
    found = [
        f"unverified: turn {number}: nothing supports the verdict"
        for number, turn in enumerate(checked.turns, start=1)
        if turn.verification == VERIFICATION_NONE
    ]
    return replace(checked, faults=[*checked.faults, *found])


def located_faults(faults: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Yields turn, rule and evidence of the faults that name a turn."""
    for fault in faults:
        if parts := _LOCATED.fullmatch(fault):
            yield int(parts[2]), parts[1], parts[3]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    one: str
    other: str
    # The share of word runs that both have in common.
    likeness: float


class Likeness:
    """Compares each added conversation with the earlier ones, and keeps the most similar pair."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._sizes: list[int] = []
        # An index of the conversations that contain each run of words, which avoids comparing all pairs.
        self._saying: dict[int, list[int]] = {}
        self.alike: list[Pair] = []
        self.closest: Pair | None = None

    @property
    def compared(self) -> int:
        return len(self._names)

    def add(self, name: str, texts: Sequence[str]) -> None:
        if self.compared == LIKENESS["most"]:
            return
        runs = {hash(run) for run in shingles(texts)}
        common = Counter(chain.from_iterable(self._saying.get(run, ()) for run in runs))
        for other, shared in common.items():
            likeness = shared / (len(runs) + self._sizes[other] - shared)
            is_closest = self.closest is None or likeness > self.closest.likeness
            if is_closest or likeness >= LIKENESS["alike"]:
                pair = Pair(one=self._names[other], other=name, likeness=likeness)
                self.closest = pair if is_closest else self.closest
                self.alike += [pair] if likeness >= LIKENESS["alike"] else []
        for run in runs:
            self._saying.setdefault(run, []).append(self.compared)
        self._names.append(name)
        self._sizes.append(len(runs))


def shingles(texts: Sequence[str]) -> set[str]:
    """Returns the runs of words within each text."""
    size = LIKENESS["shingle"]
    found: set[str] = set()
    for text in texts:
        words = [_NUMBER if word[0].isdigit() else word for word in _TOKEN.findall(text.casefold())]
        found.update(" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1)))
    return found


@dataclass(kw_only=True)
class TruthReport:
    conversations: int = 0
    # Conversations of no recipe.
    unchecked: int = 0
    # The conversations that each rule could not be applied to, by the rule and what they lack.
    not_applied: Counter[tuple[str, str]] = field(default_factory=Counter)
    turns: int = 0
    # The turns whose verdict rests on nothing, and all turns with a verdict.
    unverified: int = 0
    verdicts: int = 0
    # The student's messages except openings.
    replies: int = 0
    meant_wrong: int = 0
    found_wrong: int = 0
    unlike_meant: int = 0
    # Counts each combination of codes; `labels` names their positions.
    codes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    labels: tuple[str, ...] = ()
    rules: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)
    # Findings of rules that do not condemn.
    marks: list[tuple[str, str]] = field(default_factory=list)
    likeness: Likeness = field(default_factory=Likeness)
    _entropy: float = 0.0

    def add(self, conversation: str, checked: CheckedConversation) -> None:
        self.conversations += 1
        for turn in checked.turns:
            self.turns += 1
            self._entropy += bigram_entropy(words(turn.reply))
            self.labels = tuple(turn.codes)
            self.codes[tuple(turn.codes.values())] += 1
            self.verdicts += turn.verification != VERIFICATION_UNSPECIFIED
            self.unverified += turn.verification == VERIFICATION_NONE
            if turn.meant_wrong is None:
                continue
            self.replies += 1
            self.meant_wrong += turn.meant_wrong
            self.found_wrong += turn.right is False
            self.unlike_meant += turn.right is not None and turn.right == turn.meant_wrong
        self.not_applied.update(checked.lacking.items())
        self.rules.update(fault.partition(":")[0] for fault in checked.faults)
        self.faults += [(conversation, fault) for fault in checked.faults]
        self.marks += [(conversation, mark) for mark in checked.marks]
        self.likeness.add(conversation, [text for turn in checked.turns for text in (turn.message, turn.reply)])

    def occurring(self, label: str) -> Counter[str]:
        place = self.labels.index(label)
        found: Counter[str] = Counter()
        for codes, count in self.codes.items():
            found[codes[place]] += count
        return found

    @property
    def marked(self) -> Counter[str]:
        """Counts the marks by rule."""
        return Counter(mark.partition(":")[0] for _, mark in self.marks)

    def figures(self) -> dict[str, float]:
        closest = self.likeness.closest
        return {
            "conversations": self.conversations,
            "unchecked": self.unchecked,
            "turns": self.turns,
            "verdicts": self.verdicts,
            "unverified": self.unverified,
            "student_replies": self.replies,
            # Relative to all replies to the tutor, as in the paper, whose target is one wrong reply in ten.
            "intended_error_rate": self.meant_wrong / max(self.replies, 1),
            "realised_error_rate": self.found_wrong / max(self.replies, 1),
            "unlike_meant": self.unlike_meant,
            "bigram_entropy": self._entropy / max(self.turns, 1),
            "compared_in_wording": self.likeness.compared,
            "most_alike": closest.likeness if closest else 0.0,
            "alike_pairs": len(self.likeness.alike),
            "faults": len(self.faults),
        }

    def as_json(self) -> dict[str, Any]:
        closest = self.likeness.closest
        return {
            "figures": self.figures(),
            "codes": {label: dict(sorted(self.occurring(label).items())) for label in self.labels},
            "combinations": [
                {**dict(zip(self.labels, codes, strict=True)), "turns": count}
                for codes, count in sorted(self.codes.items())
            ],
            "most_alike": _pair(closest) if closest else None,
            "alike": [_pair(pair) for pair in self.likeness.alike],
            "rules": dict(sorted(self.rules.items())),
            "not_applied": [
                {"rule": rule, "lacking": need, "conversations": count}
                for (rule, need), count in sorted(self.not_applied.items())
            ],
            "faults": [{"conversation": name, "fault": fault} for name, fault in self.faults],
            "marks": [{"conversation": name, "mark": mark} for name, mark in self.marks],
        }


def _pair(pair: Pair) -> dict[str, Any]:
    return {"conversations": [pair.one, pair.other], "likeness": pair.likeness}
