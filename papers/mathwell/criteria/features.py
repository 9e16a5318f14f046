"""A word problem as a vector of hashed features: its words, its code, and the links between them."""

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from soliloquy_papers.mathwell.criteria.parsed_problem import ParsedProblem, parse_problem
from soliloquy_papers.mathwell.criteria.program_features import program_features
from soliloquy_papers.mathwell.criteria.scoring import JUDGES, score
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem
from soliloquy_papers.mathwell.criteria.words import ASKED, asks_for, singular
from soliloquy_papers.mathwell.readability import flesch_kincaid

# Places of hashed features, of the text and of how the program goes with it; each rule has a place of its own.
_OF_TEXT, _OF_PROGRAM = 4096, 8192
HASHED = _OF_TEXT + _OF_PROGRAM
SIZE = HASHED + len(JUDGES)
Vector = npt.NDArray[np.float32]
Array = npt.NDArray[np.floating[Any]]
Flags = npt.NDArray[np.bool_]

_TOKEN = re.compile(r"[^\W\d_]+|\d[\d.,/]*|[$%?]")
_CODE = re.compile(r"[^\W\d_]{2,}|[-+*/%]{1,2}")
_COMMENT = re.compile(r"#.*")
# Counts above this limit carry no further information.
_MOST = 4


def vector(problem: WordProblem) -> Vector:
    """Returns three vectors of length one as one: of the text, of how the program goes with it, and of the rules."""
    read = parse_problem(problem)
    objecting = {one.judge for one in score(problem).opinions}
    of_rules = np.array([judge in objecting for judge in JUDGES], dtype=np.float32)
    parts = (_hashed(_features(problem, read), _OF_TEXT), _hashed(program_features(read), _OF_PROGRAM), of_rules)
    return np.concatenate([part / max(float(np.linalg.norm(part)), 1.0) for part in parts])


def _hashed(features: Iterable[str], places: int) -> Vector:
    """A hashed sign keeps colliding features from adding up."""
    found = np.zeros(places, dtype=np.float32)
    for feature in set(features):
        place = zlib.crc32(feature.encode())
        found[place % places] += 1.0 if place & 0x80000000 else -1.0
    return found


def _features(problem: WordProblem, read: ParsedProblem) -> Iterator[str]:
    words = ["#" if word[0].isdigit() else singular(word) for word in _TOKEN.findall(problem.question)]
    yield from (f"q {word}" for word in words)
    yield from (f"q {one} {other}" for one, other in pairwise(words))
    code = _CODE.findall(_COMMENT.sub("", problem.code))
    yield from (f"c {one} {other}" for one, other in pairwise(code))
    yield f"reading {round(flesch_kincaid(problem.question)) // 2}"
    yield from _together(read)


def _together(read: ParsedProblem) -> Iterator[str]:
    """Yields features that relate the code to the question, which are the most telling ones."""
    mentions = read.question.mentions
    yield f"numbers {min(len(mentions), _MOST)}"
    yield f"largest {len(str(int(max((abs(one.value) for one in mentions), default=0))))}"
    if read.result is None:
        yield "unfollowed"
        return
    signs = "".join(sorted(read.operations)) or "none"
    asked = [name for name in ASKED if asks_for(read.question.asked, name)] or ["nothing else"]
    yield from (f"asked {name} by {signs}" for name in asked)
    yield f"takes away {read.takes_away()}"
    yield f"unused {min(len(read.links.unused), _MOST)}"
    yield f"invented {min(len(read.links.invented), _MOST)}"
    yield f"below zero {read.result.value < 0}"
    yield f"whole {read.result.value.is_integer()} {read.question.thing}"
