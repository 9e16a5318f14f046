"""Sentences drawn from phrases.toml and put together under a word limit."""

import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, overload

from services.truth.phrases import shared_words

# How often other words are sought, and from what share of common words on two messages say the same.
TRIES = 6
SAME = 0.8
# A word that may take a capital, not the symbol that a formula begins with.
_PROSE = re.compile(r"[a-z][a-z']+(?![\w(]|\s*[=(])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrase:
    text: str
    slots: frozenset[str]


class Wordings(Sequence[str]):
    """Phrases with their slots filled, each when it is chosen and not before."""

    def __init__(self, phrases: Sequence[Phrase], slots: Mapping[str, str]) -> None:
        self._phrases = phrases
        self._slots = slots

    def __len__(self) -> int:
        return len(self._phrases)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[str]: ...
    def __getitem__(self, position: int | slice) -> str | Sequence[str]:
        if isinstance(position, slice):
            return Wordings(self._phrases[position], self._slots)
        return self._phrases[position].text.format(**self._slots)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A sentence in any of these wordings. Optional ones go, the last first, when words run short."""

    options: Sequence[str]
    optional: bool = False


@cache
def book() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))


@cache
def phrases(*path: str) -> Sequence[Phrase]:
    """The wordings of one situation: phrases("tutor", "wrong", "lead")."""
    wordings = book()
    for key in path:
        wordings = wordings[key]
    return tuple(
        Phrase(text=text, slots=frozenset(slot for _, slot, _, _ in string.Formatter().parse(text) if slot))
        for text in wordings
    )


@cache
def cue(situation: str) -> re.Pattern[str]:
    return re.compile("|".join(book()["cues"][situation]), re.IGNORECASE)


def wordings(*path: str, **slots: str) -> Wordings:
    """The wordings that can be filled: one that needs an empty slot is left out."""
    filled = {slot for slot, text in slots.items() if text}
    return Wordings([phrase for phrase in phrases(*path) if phrase.slots <= filled], slots)


def part(*path: str, **slots: str) -> Part:
    return Part(options=wordings(*path, **slots))


def optional(*path: str, **slots: str) -> Part:
    return Part(options=wordings(*path, **slots), optional=True)


def verbatim(text: str) -> Part:
    return Part(options=(text,))


def one_of(rng: Random, *path: str, **slots: str) -> str:
    return rng.choice(wordings(*path, **slots))


def anew(parts: Sequence[Part], rng: Random, limit: int, before: Sequence[str]) -> str:
    """The same, in other words than the speaker has used before, where there are any."""
    texts = (compose(parts, rng, limit) for _ in range(TRIES))
    first = next(texts)
    return next((text for text in (first, *texts) if all(shared_words(text, said) < SAME for said in before)), first)


def compose(parts: Sequence[Part], rng: Random, limit: int = 0) -> str:
    """One wording of each part, in order; under `limit` words as far as the shortest wordings allow."""
    parts = [part for part in parts if part.options]
    chosen = [rng.choice(part.options) for part in parts]
    if limit and _words(chosen) >= limit:
        for position, part in reversed(list(enumerate(parts))):
            if part.optional and _words(chosen) >= limit:
                chosen[position] = ""
        for position, part in enumerate(parts):
            if not part.optional and _words(chosen) >= limit:
                chosen[position] = min(part.options, key=lambda text: len(text.split()))
    text = " ".join(sentence for sentence in chosen if sentence)
    return text[:1].upper() + text[1:] if _PROSE.match(text) else text


def _words(chosen: Sequence[str]) -> int:
    return sum(len(sentence.split()) for sentence in chosen)
