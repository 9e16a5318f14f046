"""Finds near-duplicates of earlier questions among millions, and removes them from a problem file."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat, tee
from pathlib import Path

from rensa import RMinHash, RMinHashLSH

from soliloquy.problems.sifting.problem_lines import problem_lines
from soliloquy.problems.sifting.sampling import DUPLICATES
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.seeds import digest

# Seed of the sketches: the same file always gives the same result.
SEED = 7
# Problems sketched at once.
_BATCH = 1_000


class NearDuplicates:
    """Indexes the kept questions; duplicates are not added."""

    def __init__(self) -> None:
        bands, rows = banding(DUPLICATES.same)
        self._sketch_size = bands * rows
        self._index = RMinHashLSH(DUPLICATES.same, self._sketch_size, bands)
        # Hashes take a tenth of the memory of words.
        self._kept: list[array[int]] = []

    def sift(self, questions: Sequence[tuple[str, str]]) -> list[bool]:
        """Returns whether each question repeats one that was kept; keeps those that repeat none.

        Each comes with the structure of its program. If that is empty, other numbers make another question.
        """
        sets = [shingles(question, structure) for question, structure in questions]
        sketches = RMinHash.from_token_sets([list(each) for each in sets], num_perm=self._sketch_size, seed=SEED)
        return [self._repeats(words, sketch) for words, sketch in zip(sets, sketches, strict=True)]

    def _repeats(self, words: set[str], sketch: RMinHash) -> bool:
        hashes = {hash(word) for word in words}
        if any(_similarity(hashes, self._kept[kept]) >= DUPLICATES.same for kept in self._index.query(sketch)):
            return True
        self._index.insert(len(self._kept), sketch)
        self._kept.append(array("q", hashes))
        return False


def _similarity(hashes: set[int], others: "array[int]") -> float:
    """Returns the exact Jaccard index."""
    common = len(hashes.intersection(others))
    return common / (len(hashes) + len(others) - common)


def repeats(questions: Iterable[str]) -> Iterator[bool]:
    """Yields whether each question is nearly the same as an earlier one, with the same numbers."""
    return told_again((question, "") for question in questions)


def told_again(questions: Iterable[tuple[str, str]]) -> Iterator[bool]:
    """Yields whether each question is nearly the same as an earlier one whose program has the same structure."""
    index, left = NearDuplicates(), iter(questions)
    while batch := list(islice(left, _BATCH)):
        yield from index.sift(batch)


def banding(threshold: float) -> tuple[int, int]:
    """Returns the bands and rows of the index: the most rows with enough recall, as rows cut false candidates."""
    for rows in range(DUPLICATES.most_rows, 1, -1):
        for bands in range(1, DUPLICATES.most_bands + 1):
            if 1 - (1 - threshold**rows) ** bands >= DUPLICATES.recall:
                return bands, rows
    return DUPLICATES.most_bands, 1


# Words, numbers, and arithmetic signs; a hyphen inside a word is not a sign.
_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|[^\W\d_]+"
    r"|[+*/^=<>√±×÷·%]|(?<![^\W\d_])[-−]|[-−](?![^\W\d_])"
)
_NUMBER = "#"


def shingles(question: str, structure: str = "") -> set[str]:
    """Returns the word triples of a question.

    The structure of its program is part of each, or else the numbers, so that questions that differ in it have none in
    common.
    """
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
    salt = (digest("structure", structure) if structure else digest("numbers", *numbers))[:8]
    size = min(DUPLICATES.shingle, len(words))
    return {" ".join((salt, *words[start : start + size])) for start in range(len(words) - size + 1)}


@dataclass(kw_only=True, slots=True)
class DedupeCounts:
    read: int = 0
    kept: int = 0
    dropped: int = 0
    # Dropped ones that differ from an earlier one in their numbers only.
    told_again: int = 0


def dedupe(source: Path, target: Path, *, other_numbers: bool = False) -> DedupeCounts:
    """Keeps the first of similar problems; `other_numbers` takes one story with other numbers for similar."""
    counts = DedupeCounts()
    lines, others, programs = tee(problem_lines(source), 3)
    again = told_again((one.question, one.structure) for one in programs) if other_numbers else repeat(False)
    with atomic_file(target) as file:
        for line, alike, renumbered in zip(lines, repeats(other.question for other in others), again, strict=False):
            counts.read += 1
            counts.dropped += alike or renumbered
            counts.told_again += renumbered and not alike
            if not alike and not renumbered:
                counts.kept += 1
                file.write(line.text.encode())
    return counts
