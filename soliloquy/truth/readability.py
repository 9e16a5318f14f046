"""Readability of a text, by the lengths of its sentences and words and by familiar words."""

import re
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_SENTENCE = re.compile(r"[^.?!]*[^\W\d_][^.?!]*")
_WORD = re.compile(r"[^\W_]+(?:['’.,-](?=\w)[^\W_]+)*")
_TOKEN = re.compile(r"\d[\d.,]*\d|\w+(?:['’]\w+)?|[^\w\s]")
_VOWELS = re.compile(r"[aeiouyàáâäèéêëìíîïòóôöùúûü]+", re.IGNORECASE)
# The full stop of an abbreviation does not end a sentence.
_TITLES = re.compile(r"\b(Mr|Mrs|Ms|Dr|St|vs)\.")
_SILENT = re.compile(r"(?:[^laeiouy]es|[^aeiouytd]ed|[^laeiouy]e|[aeiouy]le?s?(?<=[aeiouy]le))$", re.IGNORECASE)
_HISSING = re.compile(r"(?:[sxz]|ch|sh|[cg])es$", re.IGNORECASE)


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def tokens(text: str) -> int:
    """Counts words, numbers and punctuation marks."""
    return len(_TOKEN.findall(text))


def sentences(text: str) -> int:
    plain = re.sub(r"(?<=\d)\.(?=\d)", "", _TITLES.sub(r"\1", text))
    return max(len(_SENTENCE.findall(plain)), 1)


@lru_cache(8192)
def syllables(word: str) -> int:
    """Counts groups of vowels except a silent e; a number in digits has one syllable."""
    groups = len(_VOWELS.findall(word))
    if groups > 1 and _SILENT.search(word) and not _HISSING.search(word):
        groups -= 1
    return max(groups, 1)


@lru_cache(256)
def flesch_kincaid(text: str) -> float:
    """Returns the American school year that can read the text; negative for very easy texts."""
    found = words(text)
    if not found:
        return 0.0
    long = sum(map(syllables, found)) / len(found)
    return 0.39 * len(found) / sentences(text) + 11.8 * long - 15.59


def dale_chall(text: str) -> float | None:
    """Returns the New Dale-Chall score, by the share of unfamiliar words; None without the list of familiar words.

    As in the published figures, numbers in digits are familiar; names, and inflections missing from the list, are not.
    """
    familiar, found = _familiar(), words(text)
    if familiar is None:
        return None
    strange = [word for word in found if word.lower() not in familiar and not word[0].isdigit()]
    share = 100 * len(strange) / max(len(found), 1)
    return 0.1579 * share + 0.0496 * len(found) / sentences(text) + (3.6365 if share > 5 else 0)


@cache
def _familiar() -> frozenset[str] | None:
    """Reads only the word list of textstat, whose functions would download a pronunciation dictionary."""
    try:
        path = distribution("textstat").locate_file("textstat/resources/en/easy_words.txt")
    except PackageNotFoundError:
        return None
    return frozenset(Path(str(path)).read_text("utf-8").split())
