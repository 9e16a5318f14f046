"""Questions as sets of neighbouring words, which is what their similarity is measured on."""

import re

from soliloquy.problems.sifting.policy import DUPLICATES
from soliloquy.runtime.seeds import digest

# Words, numbers, and the signs that make one calculation differ from another; a hyphen inside a word is none.
_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|[^\W\d_]+"
    r"|[+*/^=<>√±×÷·%]|(?<![^\W\d_])[-−]|[-−](?![^\W\d_])"
)
_NUMBER = "#"


def shingles(question: str, *, ignore_numbers: bool) -> set[str]:
    """The numbers themselves are part of each shingle: questions with others have none in common."""
    words: list[str] = []
    numbers: list[str] = []
    for match in _TOKEN.finditer(question.casefold()):
        if match["number"] is None:
            words.append(match.group())
        else:
            words.append(_NUMBER)
            numbers.append(f"{float(match['number'].replace(',', '')):.10g}")
    if not words:
        return {question.strip()}
    salt = "" if ignore_numbers else digest("numbers", *numbers)[:8]
    size = min(DUPLICATES.shingle, len(words))
    return {" ".join((salt, *words[start : start + size])) for start in range(len(words) - size + 1)}
