"""Brings texts of other languages into the numbers and words that the readers know; a file for each language."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from soliloquy.truth.number_meanings import MAGNITUDES, ONES, TENS
from soliloquy.v1.conversation_pb2 import Problem

_FOLDER = Path(__file__).with_name("locales")
# Shorter words begin others by chance.
_SHORTEST_BEGINNING = 3


class UnknownLanguage(ValueError):
    """No file says how to read texts of this language."""


def languages() -> list[str]:
    """Returns the languages besides English that can be read."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@lru_cache
def locale(language: str) -> "Locale":
    """Raises UnknownLanguage."""
    if language not in languages():
        raise UnknownLanguage(f"there is no language {language[:80]!r}: use one of en, {', '.join(languages())}")
    return Locale(tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8")))


# Several rules read the same message.
@lru_cache(1024)
def gloss(text: str, language: str) -> str:
    """Returns a text, word for word, as the readers know it; English as it is."""
    return "".join(read for _, read in locale(language).pieces(text)) if language else text


def glossed(problem: Problem) -> Problem:
    """Returns a copy of a problem for the readers; English as it is."""
    if not (language := problem.language):
        return problem
    read = Problem()
    read.CopyFrom(problem)
    read.ClearField("language")
    read.question, read.solution = gloss(problem.question, language), gloss(problem.solution, language)
    read.enrichment.detailed_solution = gloss(problem.enrichment.detailed_solution, language)
    for step in read.steps:
        step.ask, step.explanation = gloss(step.ask, language), gloss(step.explanation, language)
    return read


class Locale:
    """The numbers and words of a language."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self._phrases = [*table["phrases"].items()]
        self._words = dict(_number_words(table["numbers"]))
        self._beginnings: dict[str, str] = {}
        self._ends: dict[str, str] = {}
        for english, forms in table["words"].items():
            for form in map(str.casefold, forms):
                place = self._beginnings if form.endswith("*") else self._ends if form[0] == "*" else self._words
                place[form.strip("*")] = english

    def pieces(self, text: str) -> Iterator[tuple[str, str]]:
        """Yields the pieces of a text, each with what it is read as."""
        at = 0
        for found in self._pattern.finditer(text):
            yield text[at : found.start()], text[at : found.start()]
            yield found[0], self._read(found)
            at = found.end()
        yield text[at:], text[at:]

    def original(self, text: str, start: int, end: int) -> str:
        """Returns what was read as a part of a gloss, which begins and ends between words."""
        own, read, cuts = 0, 0, list[int]()
        for piece, gloss in self.pieces(text):
            for place in (start, end)[len(cuts) :]:
                if place <= read + len(gloss):
                    cuts.append(own + (place - read if piece == gloss else len(piece) * (place > read)))
            own, read = own + len(piece), read + len(gloss)
        return text[slice(*cuts)]

    def _read(self, found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        if kind == "number":
            plain = found[0].replace("{", "").replace("}", "").replace(self.table["thousands"], "")
            return plain.replace(self.table["decimal"], ".")
        return self._word(found[0].casefold()) or found[0] if kind == "word" else self._phrases[int(kind[1:])][1]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        decimal, thousands = (re.escape(self.table[sign]) for sign in ("decimal", "thousands"))
        part = rf"(?:{decimal}|\{{{decimal}\}})\d+"
        number = rf"(?<![\w.,])(?:[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+(?:{part})?|\d+{part})(?![.,]?\d)"
        phrases = (f"(?P<p{at}>{phrase})" for at, (phrase, _) in enumerate(self._phrases))
        return re.compile("|".join([f"(?P<number>{number})", *phrases, r"(?P<word>[^\W\d_]+)"]), re.IGNORECASE)

    def _word(self, word: str) -> str:
        """Returns a word in English, or what it begins or ends with; empty if nothing is known."""
        known = self._words.get(word, "")
        cuts = range(len(word), _SHORTEST_BEGINNING - 1, -1)
        known = known or next((self._beginnings[word[:cut]] for cut in cuts if word[:cut] in self._beginnings), "")
        return known or next((self._ends[word[cut:]] for cut in range(1, len(word)) if word[cut:] in self._ends), "")


def _number_words(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the numbers below a hundred, those with a half, and those of hundreds and thousands, in words."""
    below = [*zip(table["ones"], ONES, strict=True)]
    joined = [(table["one"] if english == "one" else word, english) for word, english in below[1:]]
    for ten, tens in zip(table["tens"], TENS, strict=True):
        below.append((ten, tens))
        below += [(f"{word}{table['between']}{ten}", f"{tens}-{english}") for word, english in joined[:9]]
    yield from below
    names = {size: name for name, size in MAGNITUDES.items()}
    for word, english in joined:
        yield f"{word}{table['half']}", f"{english} and a half"
        for large, size in table["large"].items():
            yield f"{word}{large}", f"{english} {names[size]}"
            # "hundertzwanzig" leaves its "ein" out.
            for first in (word, "") if english == "one" else (word,):
                yield from ((f"{first}{large}{less}", f"{english} {names[size]} {rest}") for less, rest in below[1:])
