"""Removes near-duplicates from a problem file."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from soliloquy.problems.files.atomic_file import atomic_file
from soliloquy.problems.sifting.near_duplicates import Match, NearDuplicates
from soliloquy.problems.sifting.problem_lines import ProblemLine, problem_lines

AT_ONCE = 1_000


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
    while batch := list(islice(lines, AT_ONCE)):
        yield from zip(batch, index.sift([line.question for line in batch]), strict=True)
