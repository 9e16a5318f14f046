"""Features of how a program goes with its question: what it returns, in which steps, and with which numbers."""

import math
import re
from collections.abc import Iterator

from soliloquy.programs.terms import Term
from soliloquy_papers.mathwell.criteria.parsed_problem import ParsedProblem
from soliloquy_papers.mathwell.criteria.words import singular

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\d+")
_COMMENT = re.compile(r"#(.*)")
_RETURNED = re.compile(r"return\s+(.*)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_CALLS = re.compile(r"\b(?:if|else|for|while|round|int|len|sum|min|max|abs|import|print|str)\b|//|%")
_BINARY = ("+", "-", "*", "/")
# Words before a number that say what becomes of it, and how far before it they are looked for.
_NEAR = 3
_BEFORE = 25
# Counts above these limits carry no further information.
_FEW, _SOME, _MANY = 3, 5, 8


def program_features(read: ParsedProblem) -> Iterator[str]:
    asked = _asked(read.problem.question)
    yield from (
        f"ask {' '.join(asked[at : at + length])}" for length in (1, 2, 3) for at in range(len(asked) - length + 1)
    )
    yield from _of_text(read, asked)
    if read.result is None:
        yield "untraced"
        return
    yield from _of_answer(read, asked)
    yield from _of_steps(read)
    things = [mention.thing for mention in read.question.mentions]
    yield from (f"number {one.thing} {_size(one.value)}" for one in read.question.mentions)
    result = read.thing_of(read.result)
    yield f"asked thing {read.question.thing in things} {bool(read.question.thing)}"
    yield f"result thing {result == read.question.thing} {bool(result)}"
    yield f"things {len(set(things))} of {min(len(things), _SOME)}"


def _asked(question: str) -> list[str]:
    """Returns the words of the last sentence that asks."""
    asking = [sentence for sentence in _SENTENCE.split(question) if "?" in sentence]
    return _words(asking[-1]) if asking else []


def _words(text: str) -> list[str]:
    return [singular(word) for word in _WORD.findall(text.lower())]


def _of_text(read: ParsedProblem, asked: list[str]) -> Iterator[str]:
    """Compares the names, comments and numbers of the code with the question."""
    question, code = read.problem.question, read.problem.code
    comments = " ".join(_COMMENT.findall(code))
    bare = _COMMENT.sub("", code)
    returned = _RETURNED.search(bare)
    names, said = set(_words(returned[1] if returned else "")), set(_words(question))
    numbers, coded = set(_NUMBER.findall(question)), set(_NUMBER.findall(bare))
    yield from (f"returns {name}" for name in names)
    yield f"returns asked {min(len(names & set(asked)), _FEW)} of {min(len(names), _FEW)}"
    yield f"strange names {min(len(set(_words(bare)) - said), _MANY)}"
    yield f"strange comments {min(len(set(_words(comments)) - said), _MANY)}"
    yield f"numbers of comments {min(len(set(_NUMBER.findall(comments)) - numbers), _FEW)}"
    yield f"numbers of code {min(len(coded - numbers), _FEW)} of text {min(len(numbers - coded), _FEW)}"
    yield f"lines {min(code.count(chr(10)), 2 * _MANY)} comments {min(code.count('#'), _MANY)}"
    yield f"sentences {min(len(_SENTENCE.split(question)), _MANY)} ends {question.strip()[-1:]}"
    yield f"questions {min(question.count('?'), _FEW)}"
    yield f"words {min(len(question.split()) // _MANY, 2 * _MANY)}"
    yield from (f"calls {call}" for call in _CALLS.findall(bare))


def _of_answer(read: ParsedProblem, asked: list[str]) -> Iterator[str]:
    assert read.result is not None
    value, mentions = read.result.value, read.question.mentions
    is_whole = float(value).is_integer()
    yield f"answer {_size(value)}"
    yield f"answer whole {is_whole} many {'many' in asked} much {'much' in asked}"
    yield f"answer in text {any(math.isclose(one.value, value) for one in mentions)}"
    largest = max((abs(one.value) for one in mentions), default=0.0)
    yield f"answer to largest {_size(value / largest) if largest else 'none'}"


def _of_steps(read: ParsedProblem) -> Iterator[str]:
    signs = [term.operation for term in read.terms if term.operation]
    yield f"signs {' '.join(signs[:_SOME])}"
    yield f"steps {len(signs)}"
    for term in read.terms:
        if term.value < 0:
            yield "step below zero"
        if term.operation and not float(term.value).is_integer():
            yield f"fraction by {term.operation}"
        if term.operation in _BINARY:
            yield from _of_step(read, term)


def _of_step(read: ParsedProblem, term: Term) -> Iterator[str]:
    things = {read.thing_of(part) or "?" for part in term.parts}
    yield f"things by {term.operation} {len(things)} {'?' in things}"
    if term.operation in "-/" and len(term.parts) == 2:
        yield f"larger first by {term.operation} {term.parts[0].value > term.parts[1].value}"
    for side, part in enumerate(term.parts):
        mention = None if part.operation else read.links.mention(part)
        if mention is not None:
            kind = f"rate {mention.rate} factor {mention.factor} share {mention.share}"
            yield f"part of {term.operation} {side} {mention.thing} {kind}"
            before = read.problem.question[max(0, mention.start - _BEFORE) : mention.start]
            yield from (f"near {word} {term.operation}" for word in _words(before)[-_NEAR:])


def _size(value: float) -> str:
    """Returns the power of ten of a number, and whether it is negative."""
    if value == 0 or not math.isfinite(value):
        return "0"
    return f"{math.floor(math.log10(abs(value)))}{'-' if value < 0 else ''}"
