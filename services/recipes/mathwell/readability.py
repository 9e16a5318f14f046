"""How hard a text is to read, by the lengths of its sentences and words."""

import re
from functools import lru_cache

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
