"""A word problem as a vector of hashed features: its words, its code, and the links between them."""

import re
import zlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from soliloquy.recipes.mathwell.criteria.parsed_problem import ParsedProblem, parse_problem
from soliloquy.recipes.mathwell.criteria.scoring import JUDGES, score
from soliloquy.recipes.mathwell.criteria.verdicts import WordProblem
from soliloquy.recipes.mathwell.criteria.words import ASKED, asks_for, singular
from soliloquy.truth.readability import flesch_kincaid

# Places of hashed features; the rules have a place of their own each.
HASHED = 4096
SIZE = HASHED + len(JUDGES)
Vector = npt.NDArray[np.float32]

_TOKEN = re.compile(r"[^\W\d_]+|\d[\d.,/]*|[$%?]")
_CODE = re.compile(r"[^\W\d_]{2,}|[-+*/%]{1,2}")
_COMMENT = re.compile(r"#.*")
# Counts above this limit carry no further information.
_MOST = 4


def vector(problem: WordProblem) -> Vector:
    """Returns two vectors of length one, of the text and of the rules that object, as one.

    A hashed sign keeps colliding features from adding up.
    """
    found = np.zeros(SIZE, dtype=np.float32)
    for feature in set(_features(problem)):
        place = zlib.crc32(feature.encode())
        found[place % HASHED] += 1.0 if place & 0x80000000 else -1.0
    found /= max(float(np.linalg.norm(found)), 1.0)
    objecting = {one.judge for one in score(problem).opinions}
    of_rules = np.array([judge in objecting for judge in JUDGES], dtype=np.float32)
    found[HASHED:] = of_rules / max(float(np.linalg.norm(of_rules)), 1.0)
    return found


def _features(problem: WordProblem) -> Iterator[str]:
    words = ["#" if word[0].isdigit() else singular(word) for word in _TOKEN.findall(problem.question)]
    yield from (f"q {word}" for word in words)
    yield from (f"q {one} {other}" for one, other in pairwise(words))
    code = _CODE.findall(_COMMENT.sub("", problem.code))
    yield from (f"c {one} {other}" for one, other in pairwise(code))
    yield f"reading {round(flesch_kincaid(problem.question)) // 2}"
    yield from _together(parse_problem(problem))


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
