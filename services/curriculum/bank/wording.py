"""A question with slots, read both ways: filled with things and values, and found again from its text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.curriculum.bank.family_file import FamilyFile
from services.curriculum.working.figures import with_unit

SLOT = re.compile(r"\{(\w+)\}")
NUMBER = r"[0-9.e-]+"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    template: str
    pattern: re.Pattern[str]

    def filled(self, slots: Mapping[str, str]) -> str:
        return self.template.format_map(slots)

    def slots_of(self, question: str) -> dict[str, str] | None:
        """The things as words and the values as digits, where the question has this wording."""
        match = self.pattern.fullmatch(question)
        return match.groupdict() if match else None


def wording(template: str, family: FamilyFile) -> Wording:
    parts = SLOT.split(template)
    seen: set[str] = set()
    pattern = ""
    for position, part in enumerate(parts):
        if position % 2 == 0:
            pattern += re.escape(part)
        else:
            pattern += _slot_pattern(part, family, again=part in seen)
            seen.add(part)
    return Wording(template=template, pattern=re.compile(pattern))


def slots_in(template: str) -> Sequence[str]:
    return SLOT.findall(template)


def _slot_pattern(slot: str, family: FamilyFile, *, again: bool) -> str:
    if slot in family.things:
        words = "|".join(map(re.escape, family.things[slot]))
        return f"(?P={slot})" if again else f"(?P<{slot}>{words})"
    if slot in family.constants:
        constant = family.constants[slot]
        return re.escape(with_unit(constant.value, constant.unit))
    unit = family.given[slot].unit
    number = f"(?P={slot})" if again else f"(?P<{slot}>{NUMBER})"
    return number + (re.escape(f" {unit}") if unit else "")
