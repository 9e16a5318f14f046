"""Draws sentences from phrase files and combines them under a word limit."""

import math
import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, overload

from soliloquy.standin.agreement import agreeing
from soliloquy.texts.phrases import is_much_like

# How many wordings to try, and how many shared words make two messages too similar.
TRIES = 12
SAME = 0.8
# A message like an earlier one is worse than one that repeats any of its phrases; shorter ones are not noticed.
_ALIKE = 100
_NOTICED = 3
# Slots that hold the name of a quantity.
_NAMES = ("name", "hard", "named", "before", "found")
_PHRASE_END = re.compile(r"(?<=[.!?:;,])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# "I [got|get] it" is two wordings; "[so |]it is" is one with the word and one without.
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
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
        text = self._phrases[position].text.format(**self._slots)
        for slot in _NAMES:
            text = agreeing(text, self._slots.get(slot, ""))
        return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A sentence in any of several wordings. Under a word limit optional parts are dropped, last first."""

    options: Sequence[str]
    optional: bool = False
    # Left out behind a question: nobody is asked two things at once.
    asks: bool = False
    # Left out unless it brings a number that has not just been said.
    recaps: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """How a speaker picks among wordings: how much it says, and what it avoids."""

    # The share of optional sentences that are said.
    optional: float = 1.0
    # The wordings that are weighed for each sentence, and whether the longest of them is taken, or the shortest.
    weighed: int = 1
    longest: bool = False
    # No wording should hold these, if there is another.
    avoids: re.Pattern[str] | None = None

    def pick(self, options: Sequence[str], rng: Random) -> str:
        found = [rng.choice(options) for _ in range(self.weighed)]
        if self.avoids is not None:
            avoids = self.avoids
            found += [rng.choice(options) for _ in range(TRIES)]
            found = ([text for text in found if not avoids.search(text)] or found)[: self.weighed]
        return max(found, key=_size) if self.longest else min(found, key=_size)


PLAIN = Style()


class Phrasebook:
    """Tables of wordings by file and situation."""

    def __init__(self, tables: Mapping[str, Any], style: Style = PLAIN) -> None:
        self.tables = tables
        self.style = style
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


def book_of(module: Path) -> Phrasebook:
    """Returns the phrases beside a module, with those of all recipes."""
    shared, own = load_tables(Path(__file__).with_name("phrases")), load_tables(module.with_name("phrases"))
    own["tutor"].setdefault("mistake", {}).update(shared["tutor"]["mistake"])
    return Phrasebook(shared | own)


def _expand_choices(wording: str) -> Iterator[str]:
    # Odd pieces are the bracketed choices; the text between them has a single option.
    pieces = [piece.split("|") if at % 2 else [piece] for at, piece in enumerate(_CHOICE.split(wording))]
    return map("".join, product(*pieces))


def verbatim(text: str) -> Part:
    return Part(options=(text,))


def rephrase(parts: Sequence[Part], rng: Random, limit: int, before: Sequence[str], style: Style = PLAIN) -> str:
    """Composes a text unlike the speaker's earlier messages, which repeats none of their phrases if it can."""
    told = {phrase for said in before for phrase in _phrases(said)}
    best, fewest = "", math.inf
    for _ in range(TRIES):
        text = compose(parts, rng, limit, style, told)
        again = sum(phrase in told for phrase in _phrases(text)) + _echoes(text)
        if any(is_much_like(text, said, SAME) for said in before):
            again += _ALIKE
        if again < fewest:
            best, fewest = text, again
        if not again:
            break
    return best


def _phrases(text: str) -> set[str]:
    """Returns the sentences and clauses of a text that a listener would notice twice."""
    parts = (part.strip(" .,:;!?").casefold() for part in _PHRASE_END.split(text))
    return {part for part in parts if sum(word[0].isalpha() for word in part.split()) >= _NOTICED}


def _echoes(text: str) -> int:
    """Counts what a text says twice: "The critical angle is found. The critical angle is known"."""
    words = [word.strip(" .,:;!?") for word in text.casefold().split()]
    runs = [run for run in zip(words, words[1:], words[2:], strict=False) if all(word.isalpha() for word in run)]
    ends = [one.casefold() for one in _SENTENCE_END.split(text)]
    return len(runs) - len(set(runs)) + len(ends) - len(set(ends))


def compose(
    parts: Sequence[Part], rng: Random, limit: int = 0, style: Style = PLAIN, told: AbstractSet[str] = frozenset()
) -> str:
    """Picks one wording of each part, in order, below `limit` words where the shortest wordings allow it.

    An optional sentence with a phrase that was `told` before is left out.
    """
    parts = [part for part in parts if part.options]
    if style.optional < 1:
        parts = [part for part in parts if not part.optional or rng.random() < style.optional]
    chosen = [style.pick(part.options, rng) for part in parts]
    if told:
        for position, part in enumerate(parts):
            if part.optional and not told.isdisjoint(_phrases(chosen[position])):
                chosen[position] = ""
    for position, part in enumerate(parts):
        if part.asks and any(text.rstrip().endswith("?") for text in chosen[:position]):
            chosen[position] = ""
        if part.recaps and set(_NUMBER.findall(chosen[position])) <= set(_NUMBER.findall(" ".join(chosen[:position]))):
            chosen[position] = ""
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


def _size(text: str) -> int:
    return len(text.split())


def _count_words(chosen: Sequence[str]) -> int:
    return sum(map(_size, chosen))
