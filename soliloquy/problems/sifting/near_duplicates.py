"""Finds near-duplicates of earlier questions among millions, and removes them from a problem file."""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rensa import RMinHash, RMinHashLSH

from soliloquy.problems.files.atomic_file import atomic_file
from soliloquy.problems.sifting.policy import DUPLICATES
from soliloquy.problems.sifting.problem_lines import ProblemLine, problem_lines
from soliloquy.runtime.seeds import digest

# Seed of the sketches: the same file always gives the same result.
SEED = 7
# Problems sketched at once.
_BATCH = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """The most similar kept question, by ordinal."""

    kept: int
    similarity: float


class NearDuplicates:
    """Indexes the kept questions; duplicates are not added."""

    def __init__(self, threshold: float, *, ignore_numbers: bool) -> None:
        bands, rows = banding(threshold)
        self._threshold = threshold
        self._ignore_numbers = ignore_numbers
        self._sketch_size = bands * rows
        self._index = RMinHashLSH(threshold, self._sketch_size, bands)
        # Hashes take a tenth of the memory of words.
        self._kept: list[array[int]] = []

    def sift(self, questions: Sequence[str]) -> list[Match | None]:
        """Returns, for each question, the kept question that it repeats; None if it is kept itself."""
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
        """Returns the exact Jaccard index, or 0 if the sizes alone put it below the threshold."""
        smaller, larger = sorted((len(hashes), len(others)))
        if smaller < self._threshold * larger:
            return 0.0
        common = len(hashes.intersection(others))
        return common / (len(hashes) + len(others) - common)


def repeats(questions: Iterable[str]) -> Iterator[bool]:
    """Yields whether each question is nearly the same as an earlier one."""
    index, left = NearDuplicates(DUPLICATES.same, ignore_numbers=False), iter(questions)
    while batch := list(islice(left, _BATCH)):
        yield from (match is not None for match in index.sift(batch))


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


def shingles(question: str, *, ignore_numbers: bool) -> set[str]:
    """Returns the word triples of a question.

    The numbers are part of each triple, so that questions with different numbers have none in common.
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
    salt = "" if ignore_numbers else digest("numbers", *numbers)[:8]
    size = min(DUPLICATES.shingle, len(words))
    return {" ".join((salt, *words[start : start + size])) for start in range(len(words) - size + 1)}


@dataclass(kw_only=True, slots=True)
class DedupeCounts:
    read: int = 0
    kept: int = 0
    dropped: int = 0


def dedupe(source: Path, target: Path, report: Path | None, *, threshold: float, ignore_numbers: bool) -> DedupeCounts:
    """Keeps the first of similar problems; the report has a line for each dropped problem."""
    counts = DedupeCounts()
    # The id and the line of the kept problems, by ordinal.
    kept: list[tuple[str, int]] = []
    with ExitStack() as files:
        file = files.enter_context(atomic_file(target))
        dropped = files.enter_context(atomic_file(report)) if report else None
        for line, match in _sifted(source, NearDuplicates(threshold, ignore_numbers=ignore_numbers)):
            counts.read += 1
            if match is None:
                counts.kept += 1
                kept.append((line.problem, line.number))
                file.write(line.text.encode())
                continue
            counts.dropped += 1
            if dropped:
                first, first_line = kept[match.kept]
                entry = {
                    "dropped": line.problem,
                    "line": line.number,
                    "kept": first,
                    "kept_line": first_line,
                    "similarity": round(match.similarity, 4),
                }
                dropped.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
    return counts


def _sifted(source: Path, index: NearDuplicates) -> Iterator[tuple[ProblemLine, Match | None]]:
    lines = problem_lines(source)
    while batch := list(islice(lines, _BATCH)):
        yield from zip(batch, index.sift([line.question for line in batch]), strict=True)
