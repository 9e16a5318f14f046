"""Finds near-duplicates of earlier questions among millions, and removes them from a problem file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np

from soliloquy.problems.sifting.alike import repeated
from soliloquy.problems.sifting.problem_lines import problem_lines
from soliloquy.problems.sifting.sampling import DUPLICATES
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.seeds import seed
from soliloquy.texts.ngrams import Hashes, hashes_of, is_number, runs, tokens

_NUMBER = "#"


def repeats(questions: Iterable[str]) -> list[bool]:
    """Tells of each question whether it is nearly the same as an earlier one, with the same numbers."""
    return told_again((question, "") for question in questions)


def told_again(questions: Iterable[tuple[str, str]]) -> list[bool]:
    """Tells of each question whether it is nearly the same as an earlier one whose program has the same structure.

    Each comes with the structure of its program. If that is empty, other numbers make another question.
    """
    return repeated([shingles(question, structure) for question, structure in questions])


def shingles(question: str, structure: str = "") -> Hashes:
    """Returns the hashes of the word triples of a question.

    The structure of its program is part of each, or else the numbers, so that questions that differ in it have none in
    common.
    """
    return shingles_of(tokens(question) or [question.strip()], structure)


def shingles_of(words: Sequence[str], structure: str = "") -> Hashes:
    numbers = [word for word in words if is_number(word)]
    salt = seed("structure", structure) if structure else seed("numbers", *numbers)
    plain = [_NUMBER if is_number(word) else word for word in words]
    return np.sort(runs(hashes_of(plain), DUPLICATES.shingle) ^ np.uint64(salt))


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
    again = (
        told_again((one.question, one.structure) for one in problem_lines(source)) if other_numbers else repeat(False)
    )
    same = repeats(line.question for line in problem_lines(source))
    with atomic_file(target) as file:
        for line, alike, renumbered in zip(problem_lines(source), same, again, strict=False):
            counts.read += 1
            counts.dropped += alike or renumbered
            counts.told_again += renumbered and not alike
            if not alike and not renumbered:
                counts.kept += 1
                file.write(line.text.encode())
    return counts
