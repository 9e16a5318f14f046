"""Words a message in a persona's voice; situations without words of its own use the common ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.recipes.scripted.phrasebook import Part, Wordings, capitalize
from soliloquy.recipes.soliloquy.scripted.phrases import book


@dataclass(frozen=True, kw_only=True, slots=True)
class Voice:
    persona: str

    def wordings(self, *situation: str, **slots: str) -> Wordings:
        return book().wordings(*self._path(situation), **slots)

    def part(self, *situation: str, **slots: str) -> Part:
        return Part(options=self.wordings(*situation, **slots))

    def optional(self, *situation: str, **slots: str) -> Part:
        return Part(options=self.wordings(*situation, **slots), optional=True)

    def inclination(self, behaviour: str) -> float:
        """Returns how much likelier than others this persona is to behave this way."""
        return float(self._own.get("inclined", {}).get(behaviour, 1.0))

    def begun(self, text: str) -> str:
        return text if self._own.get("lower_case") else capitalize(text)

    @property
    def _own(self) -> Mapping[str, Any]:
        own: Mapping[str, Any] = book().tables["voices"].get(self.persona, {})
        return own

    def _path(self, situation: Sequence[str]) -> Sequence[str]:
        table: Any = self._own
        for key in situation:
            table = table.get(key, {})
        return ("voices", self.persona, *situation) if table else ("student", *situation)


def mid_sentence(statement: str) -> str:
    """Returns the statement as it continues "I think"; empty if its first word may be a name."""
    first = statement.split(maxsplit=1)[0]
    common = first.lower() in book().tables["student"]["common_words"]
    return statement[:1].lower() + statement[1:] if common else ""
