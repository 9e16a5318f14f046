"""Draws sentences from phrase files and combines them under a word limit."""

import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, overload

from soliloquy.truth.phrases import is_much_like

# How many wordings to try, and how many shared words make two messages too similar.
TRIES = 12
SAME = 0.8
# "I [got|get] it" is two wordings; "[so |]it is" is one with the word and one without.
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_ENDS = frozenset('.,:;!?…"')
# Matches a word that may be capitalised, as opposed to the symbol at the start of a formula.
_PROSE = re.compile(r"[a-z][a-z']+(?![\w(]|\s*[=(])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrase:
    text: str
    slots: frozenset[str]


class Wordings(Sequence[str]):
    """Phrases whose slots are filled only when one is chosen."""

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
    """A sentence in any of several wordings. Under a word limit optional parts are dropped, last first."""

    options: Sequence[str]
    optional: bool = False


class Phrasebook:
    """Tables of wordings by file and situation."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables = tables
        self.phrases = cache(self._parse)
        self.cue = cache(self._compile)
        self._fillable = cache(self._select)

    def _parse(self, *path: str) -> Sequence[Phrase]:
        """Returns the wordings of one situation, such as phrases("tutor", "right", "number")."""
        found: Any = self.tables
        for key in path:
            found = found[key]
        return tuple(
            Phrase(text=text, slots=frozenset(slot for _, slot, _, _ in string.Formatter().parse(text) if slot))
            for wording in found
            for text in _expand_choices(wording)
        )

    def _select(self, path: Sequence[str], slots: frozenset[str]) -> Sequence[Phrase]:
        return [phrase for phrase in self.phrases(*path) if phrase.slots <= slots]

    def _compile(self, situation: str) -> re.Pattern[str]:
        return re.compile("|".join(self.tables["cues"][situation]), re.IGNORECASE)

    def wordings(self, *path: str, **slots: str) -> Wordings:
        """Returns the wordings whose slots all have a value."""
        given = frozenset(slot for slot, text in slots.items() if text)
        return Wordings(self._fillable(path, given), slots)

    def part(self, *path: str, **slots: str) -> Part:
        return Part(options=self.wordings(*path, **slots))

    def optional(self, *path: str, **slots: str) -> Part:
        return Part(options=self.wordings(*path, **slots), optional=True)

    def one_of(self, rng: Random, *path: str, **slots: str) -> str:
        return rng.choice(self.wordings(*path, **slots))


def load_tables(folder: Path) -> dict[str, Any]:
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.toml"))}


def _expand_choices(wording: str) -> Iterator[str]:
    # Odd pieces are the bracketed choices; the text between them has a single option.
    pieces = [piece.split("|") if at % 2 else [piece] for at, piece in enumerate(_CHOICE.split(wording))]
    return map("".join, product(*pieces))


def verbatim(text: str) -> Part:
    return Part(options=(text,))


def rephrase(parts: Sequence[Part], rng: Random, limit: int, before: Sequence[str]) -> str:
    """Composes a text that differs from the speaker's earlier messages, if the wordings allow it."""
    texts = (compose(parts, rng, limit) for _ in range(TRIES))
    first = next(texts)
    return next((text for text in (first, *texts) if not any(is_much_like(text, said, SAME) for said in before)), first)


def compose(parts: Sequence[Part], rng: Random, limit: int = 0) -> str:
    """Picks one wording of each part, in order, below `limit` words where the shortest wordings allow it."""
    parts = [part for part in parts if part.options]
    chosen = [rng.choice(part.options) for part in parts]
    if limit and _count_words(chosen) >= limit:
        for position, part in reversed(list(enumerate(parts))):
            if part.optional and _count_words(chosen) >= limit:
                chosen[position] = ""
        for position, part in enumerate(parts):
            if not part.optional and (over := _count_words(chosen) - limit + 1) > 0:
                chosen[position] = _shorter(part.options, len(chosen[position].split()) - over, rng)
    return _join_sentences([sentence.strip() for sentence in chosen if sentence.strip()])


def _join_sentences(sentences: Sequence[str]) -> str:
    """Joins the sentences, with a comma after one that has no punctuation of its own."""
    ended = [text if text[-1] in _ENDS else f"{text}," for text in sentences[:-1]]
    return " ".join([*ended, *sentences[-1:]])


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:] if _PROSE.match(text) else text


def _shorter(options: Sequence[str], most: int, rng: Random) -> str:
    """Picks a wording of at most `most` words, or the shortest."""
    lengths = [len(text.split()) for text in options]
    shortest = min(lengths)
    return rng.choice([text for text, words in zip(options, lengths, strict=True) if words <= max(most, shortest)])


def _count_words(chosen: Sequence[str]) -> int:
    return sum(len(sentence.split()) for sentence in chosen)
