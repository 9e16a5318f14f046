"""Finds near-duplicates of earlier questions among millions, and removes them from a problem file."""

import re
from array import array
from collections.abc import Iterable, Iterator
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


def _similarity(hashes: set[int], others: "array[int]") -> float:
    """Returns the exact Jaccard index."""
    common = len(hashes.intersection(others))
    return common / (len(hashes) + len(others) - common)


def repeats(questions: Iterable[str]) -> Iterator[bool]:
    """Yields whether each question is nearly the same as an earlier one, with the same numbers."""
    return told_again((question, "") for question in questions)


def told_again(questions: Iterable[tuple[str, str]]) -> Iterator[bool]:
    """Yields whether each question is nearly the same as an earlier one whose program has the same structure.

    Each comes with the structure of its program. If that is empty, other numbers make another question.
    """
    bands, rows = banding(DUPLICATES.same)
    index = RMinHashLSH(DUPLICATES.same, bands * rows, bands)
    # The questions that repeat none. Hashes take a tenth of the memory of words.
    kept: list[array[int]] = []
    left = iter(questions)
    while batch := list(islice(left, _BATCH)):
        sets = [shingles(question, structure) for question, structure in batch]
        sketches = RMinHash.from_token_sets([list(each) for each in sets], num_perm=bands * rows, seed=SEED)
        for words, sketch in zip(sets, sketches, strict=True):
            hashes = {hash(word) for word in words}
            is_repeat = any(_similarity(hashes, kept[at]) >= DUPLICATES.same for at in index.query(sketch))
            if not is_repeat:
                index.insert(len(kept), sketch)
                kept.append(array("q", hashes))
            yield is_repeat


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
