"""One pattern for many words, which looks at each letter of a text once and not once for each of the words."""

import re
from collections.abc import Iterable
from itertools import groupby


def longest_of(words: Iterable[str]) -> str:
    """The longest of the words that fits, or else the next: as if they stood one behind the other, longest first."""
    return _pattern(sorted(set(words)))


def _pattern(words: list[str]) -> str:
    """Of words in the order of the alphabet."""
    ends = words[0] == ""
    branches: list[str] = []
    for letter, group in groupby(words[ends:], key=lambda word: word[0]):
        branches.append(f"{re.escape(letter)}{_pattern([word[1:] for word in group])}")
    if not branches:
        return ""
    if len(branches) == 1 and not ends:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if ends else ''}"
