"""A question with slots: filled with words and values, and parsed back from its text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from soliloquy.problems.bank.family_file import FamilyFile
from soliloquy.truth.number_format import format_value, with_unit

SLOT = re.compile(r"\{(\w+)\}")
NUMBER = r"[0-9.e-]+"


@dataclass(frozen=True, kw_only=True)
class QuestionWording:
    template: str
    # The template with the units and constants filled in.
    written: str
    # The pattern of each slot that is left: a drawn word or number.
    drawn: Mapping[str, str]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        seen: set[str] = set()
        pattern = ""
        for position, part in enumerate(SLOT.split(self.written)):
            if position % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P={part})" if part in seen else f"(?P<{part}>{self.drawn[part]})"
                seen.add(part)
        return re.compile(pattern)

    def slots_of(self, question: str) -> dict[str, str] | None:
        """Returns the drawn words and digits of a question; None if it has another wording."""
        match = self.pattern.fullmatch(question)
        return match.groupdict() if match else None


def question_wordings(family: FamilyFile) -> Sequence[QuestionWording]:
    drawn = {slot: "|".join(map(re.escape, words)) for slot, words in family.things.items()}
    drawn |= dict.fromkeys(family.given, NUMBER)
    written = {slot: f"{{{slot}}}" for slot in family.things}
    written |= {symbol: with_unit(f"{{{symbol}}}", row.unit) for symbol, row in family.given.items()}
    written |= {symbol: format_value(row.value, row.unit) for symbol, row in family.constants.items()}
    return [
        QuestionWording(template=template, written=template.format_map(written), drawn=drawn)
        for template in family.questions
    ]
