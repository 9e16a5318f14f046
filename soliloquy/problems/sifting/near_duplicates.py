"""Finds questions that say nearly the same as an earlier one, among millions."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from rensa import RMinHash, RMinHashLSH

from soliloquy.problems.sifting.policy import DUPLICATES
from soliloquy.runtime.seeds import digest

# Of the sketches, so that the same file is always sifted alike.
SEED = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """The most similar question among those kept, by their ordinals."""

    kept: int
    similarity: float


class NearDuplicates:
    """An index of the questions kept so far; what is found to be a duplicate never gets into it."""

    def __init__(self, threshold: float, *, ignore_numbers: bool) -> None:
        bands, rows = banding(threshold)
        self._threshold = threshold
        self._ignore_numbers = ignore_numbers
        self._sketch_size = bands * rows
        self._index = RMinHashLSH(threshold, self._sketch_size, bands)
        # As hashes, a tenth of what the words would take.
        self._kept: list[array[int]] = []

    def sift(self, questions: Sequence[str]) -> list[Match | None]:
        """For each question, in their order, the one it repeats; None where it is kept."""
        sets = [shingles(question, ignore_numbers=self._ignore_numbers) for question in questions]
        sketches = RMinHash.from_token_sets([list(each) for each in sets], num_perm=self._sketch_size, seed=SEED)
        return [self._place(words, sketch) for words, sketch in zip(sets, sketches, strict=True)]

    def _place(self, words: set[str], sketch: RMinHash) -> Match | None:
        hashes = {hash(word) for word in words}
        best: Match | None = None
        for kept in sorted(self._index.query(sketch)):
            similarity = self._similarity(hashes, self._kept[kept])
            if similarity >= max(self._threshold, best.similarity + 1e-12 if best else 0):
                best = Match(kept=kept, similarity=similarity)
        if best is None:
            self._index.insert(len(self._kept), sketch)
            self._kept.append(array("q", hashes))
        return best

    def _similarity(self, hashes: set[int], others: "array[int]") -> float:
        """The exact Jaccard index; 0 where the sizes alone keep it below the threshold."""
        smaller, larger = sorted((len(hashes), len(others)))
        if smaller < self._threshold * larger:
            return 0.0
        common = len(hashes.intersection(others))
        return common / (len(hashes) + len(others) - common)


def banding(threshold: float) -> tuple[int, int]:
    """Bands and rows of the index: as many rows as still find enough, since each spares false candidates."""
    for rows in range(DUPLICATES.most_rows, 1, -1):
        for bands in range(1, DUPLICATES.most_bands + 1):
            if 1 - (1 - threshold**rows) ** bands >= DUPLICATES.recall:
                return bands, rows
    return DUPLICATES.most_bands, 1


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
