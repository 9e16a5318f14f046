"""A word problem as a vector of hashed features: its words, its code, and how the two go together."""

import math
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from soliloquy.programs.terms import Term
from soliloquy_papers.mathwell.criteria.parsed_problem import Mention, ParsedProblem, parse_problem
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem
from soliloquy_papers.mathwell.criteria.words import sentences_of, singular
from soliloquy_papers.mathwell.readability import flesch_kincaid

SIZE = 16_384
Array = npt.NDArray[np.floating[Any]]
Flags = npt.NDArray[np.bool_]

_TOKEN = re.compile(r"[^\W\d_]+|\d[\d.,/]*|[$%?]")
_CODE = re.compile(r"[^\W\d_]{2,}|[-+*/%]{1,2}")
_WORD = re.compile(r"[a-z]+|[$%]")
_NUMBER = re.compile(r"\d+")
_COMMENT = re.compile(r"#(.*)")
_RETURNED = re.compile(r"return\s+(.*)")
_CALLS = re.compile(r"\b(?:if|else|for|while|round|int|len|sum|min|max|abs|import|print|str)\b|//|%")
_BINARY = ("+", "-", "*", "/")
# The characters before and after a number in which the words that say what becomes of it are looked for.
_BEFORE, _AFTER = 25, 40
# Counts above these limits carry no further information.
_FEW, _SOME, _MANY = 3, 5, 8


def vector(problem: WordProblem) -> Flags:
    """Returns which features are there."""
    found = np.zeros(SIZE, dtype=np.bool_)
    found[[zlib.crc32(feature.encode()) % SIZE for feature in _features(problem)]] = True
    return found


def _features(problem: WordProblem) -> Iterator[str]:
    read = parse_problem(problem)
    yield from {one.judge for one in score(problem).opinions}
    words = ["#" if word[0].isdigit() else singular(word) for word in _TOKEN.findall(problem.question)]
    yield from words
    yield from (f"{one} {other}" for one, other in pairwise(words))
    asked = _words(read.asked)
    yield from (
        f"ask {' '.join(asked[at : at + length])}" for length in (1, 2, 3) for at in range(len(asked) - length + 1)
    )
    yield from _of_texts(problem, asked)
    yield from _of_numbers(read)
    if read.result is None:
        yield "untraced"
        return
    yield from _of_answer(read, asked)
    yield from _of_steps(read, asked)


def _words(text: str) -> list[str]:
    return [singular(word) for word in _WORD.findall(text.lower())]


def _of_texts(problem: WordProblem, asked: Sequence[str]) -> Iterator[str]:
    """Compares the names, comments and numbers of the code with the question."""
    question, code = problem.question, problem.code
    comments, bare = " ".join(_COMMENT.findall(code)), _COMMENT.sub("", code)
    returned = _RETURNED.search(bare)
    names, said = set(_words(returned[1] if returned else "")), set(_words(question))
    numbers, coded = set(_NUMBER.findall(question)), set(_NUMBER.findall(bare))
    yield from (f"code {one} {other}" for one, other in pairwise(_CODE.findall(bare)))
    yield from (f"calls {call}" for call in _CALLS.findall(bare))
    yield from (f"returns {name}" for name in names)
    yield f"returns asked {min(len(names.intersection(asked)), _FEW)} of {min(len(names), _FEW)}"
    yield f"strange names {min(len(set(_words(bare)) - said), _MANY)}"
    yield f"strange comments {min(len(set(_words(comments)) - said), _MANY)}"
    yield f"numbers of comments {min(len(set(_NUMBER.findall(comments)) - numbers), _FEW)}"
    yield f"numbers of code {min(len(coded - numbers), _FEW)} of text {min(len(numbers - coded), _FEW)}"
    yield f"lines {min(code.count(chr(10)), 2 * _MANY)} comments {min(code.count('#'), _MANY)}"
    yield f"sentences {min(len(sentences_of(question)), _MANY)} ends {question.strip()[-1:]}"
    yield f"questions {min(question.count('?'), _FEW)} words {min(len(question.split()) // _MANY, 2 * _MANY)}"
    yield f"reading {round(flesch_kincaid(question)) // 2}"


def _of_numbers(read: ParsedProblem) -> Iterator[str]:
    things = [one.thing for one in read.mentions]
    yield f"numbers {min(len(things), _MANY)} things {len(set(things))} asked {read.thing in things}"
    yield f"largest {_size(_largest(read))}"
    unused = {id(one) for one in read.unused}
    for one in read.mentions:
        before, after = _around(read, one)
        yield f"number {one.thing} {_size(one.value)}"
        yield from (f"{'unused' if id(one) in unused else 'used'} {word}" for word in (*before, *after))


def _of_answer(read: ParsedProblem, asked: Sequence[str]) -> Iterator[str]:
    assert read.result is not None
    value, largest = read.result.value, _largest(read)
    is_whole = float(value).is_integer()
    yield f"answer {_size(value)}"
    yield f"answer whole {is_whole} many {'many' in asked} much {'much' in asked}"
    yield f"answer whole {is_whole} {read.thing}"
    yield f"answer in text {any(math.isclose(one.value, value) for one in read.mentions)}"
    yield f"answer to largest {_size(value / largest) if largest else 'none'}"


def _of_steps(read: ParsedProblem, asked: Sequence[str]) -> Iterator[str]:
    signs = [term.operation for term in read.terms if term.operation]
    yield f"signs {' '.join(signs[:_SOME])}"
    yield f"steps {len(signs)}"
    yield f"invented {min(len(read.invented), _SOME)}"
    yield f"unused {min(len(read.unused), _SOME)}"
    yield from (f"asked {word} by {' '.join(sorted(read.operations))}" for word in asked)
    yield from (f"invented {term.value:g}" for term in read.invented)
    for term in read.terms:
        if term.value < 0:
            yield "step below zero"
        if term.operation and not float(term.value).is_integer():
            yield f"fraction by {term.operation}"
        if term.operation in _BINARY:
            yield from _of_step(read, term)


def _of_step(read: ParsedProblem, term: Term) -> Iterator[str]:
    if term.operation in "-/" and len(term.parts) == 2:
        yield f"larger first by {term.operation} {term.parts[0].value > term.parts[1].value}"
    sources = [read.sources.get(id(part)) for part in term.parts]
    for side, mention in enumerate(sources):
        if mention is not None:
            before, after = _around(read, mention)
            yield from (f"before {term.operation} {side} {word}" for word in before)
            yield from (f"after {term.operation} {side} {word}" for word in after)
    if len(sources) == 2 and all(sources):
        one, other = (mention.thing for mention in sources if mention)
        yield f"same thing by {term.operation} {one == other}"


def _around(read: ParsedProblem, one: Mention) -> tuple[Sequence[str], Sequence[str]]:
    text = read.problem.question
    before, after = text[max(0, one.start - _BEFORE) : one.start], text[one.end : one.end + _AFTER]
    return _words(before)[-_FEW:], _words(after)[:_SOME]


def _largest(read: ParsedProblem) -> float:
    return max((abs(one.value) for one in read.mentions), default=0.0)


def _size(value: float) -> str:
    """Returns the power of ten of a number, and whether it is negative."""
    if value == 0 or not math.isfinite(value):
        return "0"
    return f"{math.floor(math.log10(abs(value)))}{'-' if value < 0 else ''}"
