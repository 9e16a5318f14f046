"""How hard a text is to read, by the lengths of its sentences and words and by how familiar they are."""

import re
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_SENTENCE = re.compile(r"[^.?!]*[^\W\d_][^.?!]*")
_WORD = re.compile(r"[^\W_]+(?:['’.,-](?=\w)[^\W_]+)*")
_TOKEN = re.compile(r"\d[\d.,]*\d|\w+(?:['’]\w+)?|[^\w\s]")
_VOWELS = re.compile(r"[aeiouyàáâäèéêëìíîïòóôöùúûü]+", re.IGNORECASE)
# A full stop in these ends no sentence.
_TITLES = re.compile(r"\b(Mr|Mrs|Ms|Dr|St|vs)\.")
_SILENT = re.compile(r"(?:[^laeiouy]es|[^aeiouytd]ed|[^laeiouy]e|[aeiouy]le?s?(?<=[aeiouy]le))$", re.IGNORECASE)
_HISSING = re.compile(r"(?:[sxz]|ch|sh|[cg])es$", re.IGNORECASE)


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def tokens(text: str) -> int:
    """Its words, numbers and marks."""
    return len(_TOKEN.findall(text))


def sentences(text: str) -> int:
    plain = re.sub(r"(?<=\d)\.(?=\d)", "", _TITLES.sub(r"\1", text))
    return max(len(_SENTENCE.findall(plain)), 1)


@lru_cache(8192)
def syllables(word: str) -> int:
    """By groups of vowels, less a silent e; a number in digits counts as one."""
    groups = len(_VOWELS.findall(word))
    if groups > 1 and _SILENT.search(word) and not _HISSING.search(word):
        groups -= 1
    return max(groups, 1)


@lru_cache(256)
def flesch_kincaid(text: str) -> float:
    """The American school year that can read it; below zero where it is very easy."""
    found = words(text)
    if not found:
        return 0.0
    long = sum(map(syllables, found)) / len(found)
    return 0.39 * len(found) / sentences(text) + 11.8 * long - 15.59


def dale_chall(text: str) -> float | None:
    """By New Dale-Chall, which counts the words that a child does not know; None without the list of those it knows.

    Numbers in digits are known. Names are not, nor inflections that the list lacks, as in the published figures.
    """
    familiar, found = _familiar(), words(text)
    if familiar is None:
        return None
    strange = [word for word in found if word.lower() not in familiar and not word[0].isdigit()]
    share = 100 * len(strange) / max(len(found), 1)
    return 0.1579 * share + 0.0496 * len(found) / sentences(text) + (3.6365 if share > 5 else 0)


@cache
def _familiar() -> frozenset[str] | None:
    """The list alone: to count with it, its library fetches a dictionary of sounds."""
    try:
        path = distribution("textstat").locate_file("textstat/resources/en/easy_words.txt")
    except PackageNotFoundError:
        return None
    return frozenset(Path(str(path)).read_text("utf-8").split())
