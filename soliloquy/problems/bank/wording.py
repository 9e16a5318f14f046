"""A question with slots: filled with words and values, and parsed back from its text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from soliloquy.problems.bank.family_file import FamilyFile
from soliloquy.truth.number_format import format_value

SLOT = re.compile(r"\{(\w+)\}")
NUMBER = r"[0-9.e-]+"


@dataclass(frozen=True, kw_only=True, slots=True)
class SlotPattern:
    """The pattern of a slot: the drawn part, and the fixed text behind it."""

    drawn: str
    behind: str


@dataclass(frozen=True, kw_only=True)
class QuestionWording:
    template: str
    slots: Mapping[str, SlotPattern]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        seen: set[str] = set()
        pattern = ""
        for position, part in enumerate(SLOT.split(self.template)):
            if position % 2 == 0:
                pattern += re.escape(part)
                continue
            slot = self.slots[part]
            if slot.drawn:
                pattern += f"(?P={part})" if part in seen else f"(?P<{part}>{slot.drawn})"
            pattern += slot.behind
            seen.add(part)
        return re.compile(pattern)

    def filled(self, slots: Mapping[str, str]) -> str:
        return self.template.format_map(slots)

    def slots_of(self, question: str) -> dict[str, str] | None:
        """Returns the drawn words and digits of a question; None if it has another wording."""
        match = self.pattern.fullmatch(question)
        return match.groupdict() if match else None


def slots_in(template: str) -> Sequence[str]:
    return SLOT.findall(template)


def longest_piece(template: str) -> str:
    """Returns the longest text between two slots, which every question of this wording contains."""
    return max(SLOT.split(template)[::2], key=len)


def slot_patterns(family: FamilyFile) -> Mapping[str, SlotPattern]:
    things = {
        slot: SlotPattern(drawn="|".join(map(re.escape, words)), behind="") for slot, words in family.things.items()
    }
    given = {
        symbol: SlotPattern(drawn=NUMBER, behind=re.escape(f" {row.unit}") if row.unit else "")
        for symbol, row in family.given.items()
    }
    constants = {
        symbol: SlotPattern(drawn="", behind=re.escape(format_value(row.value, row.unit)))
        for symbol, row in family.constants.items()
    }
    return things | given | constants
