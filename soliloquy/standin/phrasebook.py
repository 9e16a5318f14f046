"""Draws sentences from phrase files and combines them, unlike what the speaker has said before."""

import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

from soliloquy.standin.agreement import agreeing
from soliloquy.texts.phrases import is_much_like

# How many wordings to try, and how many shared words make two messages too similar.
_TRIES = 12
_SAME = 0.8
# A message like an earlier one is worse than one that repeats any of its phrases; shorter ones are not noticed.
_ALIKE = 100
_NOTICED = 3
# Slots that hold the name of a quantity.
_NAMES = ("name", "hard", "before")
_PHRASE_END = re.compile(r"(?<=[.!?:;,])\s+")
# "I [got|get] it" is two wordings; "[so |]it is" is one with the word and one without.
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_ENDS = frozenset('.,:;!?…"')
# Matches a word that may be capitalised, as opposed to the symbol at the start of a formula.
_PROSE = re.compile(r"[a-z][a-z']+(?![\w(]|\s*[=(])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A sentence in any of several wordings."""

    options: Sequence[str]
    # Left out where it would repeat what the speaker has said before.
    optional: bool = False
    # Left out behind a question: nobody is asked two things at once.
    asks: bool = False


class Phrasebook:
    """Tables of wordings by file and situation."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables = tables
        self.cue = cache(self._compile)

    def _compile(self, *path: str) -> re.Pattern[str]:
        cues = self.tables[path[0]]["cues"] if len(path) > 1 else self.tables["cues"]
        return re.compile("|".join(cues[path[-1]]), re.IGNORECASE)

    def wordings(self, *path: str, **slots: str) -> list[str]:
        """Returns the wordings of a situation whose slots all have a value; choices within them are still open."""
        found: Any = self.tables
        for key in path:
            found = found[key]
        given = {slot for slot, text in slots.items() if text}
        texts = [text.format(**slots) for text in found if _slots_of(text) <= given]
        for slot in given.intersection(_NAMES):
            texts = [agreeing(text, slots[slot]) for text in texts]
        return texts

    def part(self, *path: str, **slots: str) -> Part:
        return Part(options=self.wordings(*path, **slots))

    def optional(self, *path: str, **slots: str) -> Part:
        return Part(options=self.wordings(*path, **slots), optional=True)

    def one_of(self, rng: Random, *path: str, **slots: str) -> str:
        return _picked(self.wordings(*path, **slots), rng)


@lru_cache(4096)
def _slots_of(text: str) -> frozenset[str]:
    return frozenset(slot for _, slot, _, _ in string.Formatter().parse(text) if slot)


def _picked(options: Sequence[str], rng: Random) -> str:
    return _CHOICE.sub(lambda choice: rng.choice(choice[1].split("|")), rng.choice(options))


def load_tables(folder: Path) -> dict[str, Any]:
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.toml"))}


def book_of(module: Path) -> Phrasebook:
    """Returns the phrases beside a module, with those of all recipes."""
    shared, own = load_tables(Path(__file__).with_name("phrases")), load_tables(module.with_name("phrases"))
    own["tutor"].setdefault("mistake", {}).update(shared["tutor"]["mistake"])
    return Phrasebook(shared | own)


BOOK = Phrasebook(load_tables(Path(__file__).with_name("phrases")))


def spoken(parts: Sequence[Sequence[str]], rng: Random, before: Sequence[str]) -> str:
    """Composes a text of one wording of each part, unlike the speaker's earlier messages if it can."""
    text = ""
    for _ in range(_TRIES):
        text = " ".join(filter(None, (_picked(options, rng) for options in parts if options)))
        if not any(is_much_like(text, said, _SAME) for said in before):
            break
    return text


def rephrase(parts: Sequence[Part], rng: Random, before: Sequence[str]) -> str:
    """Composes a text unlike the speaker's earlier messages, which repeats none of their phrases if it can."""
    told = {phrase for said in before for phrase in _phrases(said)}

    def repeated(text: str) -> int:
        alike = any(is_much_like(text, said, _SAME) for said in before)
        return len(told.intersection(_phrases(text))) + _ALIKE * alike

    best = _composed(parts, rng, told)
    for _ in range(_TRIES):
        if not repeated(best):
            break
        best = min(best, _composed(parts, rng, told), key=repeated)
    return best[:1].upper() + best[1:] if _PROSE.match(best) else best


def _phrases(text: str) -> set[str]:
    """Returns the sentences and clauses of a text that a listener would notice twice."""
    parts = (part.strip(" .,:;!?").casefold() for part in _PHRASE_END.split(text))
    return {part for part in parts if sum(word[0].isalpha() for word in part.split()) >= _NOTICED}


def _composed(parts: Sequence[Part], rng: Random, told: set[str]) -> str:
    """Picks one wording of each part, in order, with a comma behind one that has no punctuation of its own."""
    chosen: list[str] = []
    for part in parts:
        text = _picked(part.options, rng).strip() if part.options else ""
        if part.optional and not told.isdisjoint(_phrases(text)):
            continue
        if text and not (part.asks and any(said.endswith("?") for said in chosen)):
            chosen.append(text)
    return " ".join([*(text if text[-1] in _ENDS else f"{text}," for text in chosen[:-1]), *chosen[-1:]])
