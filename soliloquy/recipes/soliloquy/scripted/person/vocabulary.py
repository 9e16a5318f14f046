"""Tells the words of a problem, and of anybody who works on one, from others."""

import re
from functools import cache
from pathlib import Path

from soliloquy.recipes.soliloquy.scripted.person.equations import quantities
from soliloquy.recipes.soliloquy.scripted.phrases import book
from soliloquy.texts import phrases
from soliloquy.v1.conversation_pb2 import Problem

_WORD = re.compile(r"[^\W\d_]{3,}")
_SYMBOL = re.compile(r"[^\W\d]\w*")
_FUNCTION_WORDS = Path(phrases.__file__).with_name("function_words.txt")
# Words that share so many first letters are forms of one: travel, travels, travelled.
_STEM = 5
# A message of fewer words may be about anything.
_FEW = 2


def is_about(text: str, problem: Problem, *, in_words: bool) -> bool:
    """Whether a message may be about the problem: half of its words are, or too few tell otherwise."""
    content = [word for word in _words(text) if word not in _fillers()]
    symbols = set(_SYMBOL.findall(text)) & set(quantities(problem))
    if len(content) < _FEW or "=" in text or symbols:
        return True
    belonging = sum(belongs(word, problem) for word in content)
    # Nobody knows in what words an idea will be told.
    return belonging > 0 if in_words else 2 * belonging >= len(content)


def is_usual(text: str, problem: Problem) -> bool:
    """Whether a text has no word but those of the problem and of any answer."""
    return all(word in _fillers() or belongs(word, problem) for word in _words(text))


def belongs(word: str, problem: Problem) -> bool:
    known = _vocabulary(problem.SerializeToString(deterministic=True))
    return any(word == other or (len(word) >= _STEM and word[:_STEM] == other[:_STEM]) for other in known)


def names_quantity(text: str, problem: Problem) -> bool:
    return any(known.name and known.name.casefold() in text.casefold() for known in quantities(problem).values())


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


@cache
def _fillers() -> frozenset[str]:
    words: dict[str, list[str]] = book().tables["person"]["words"]
    return frozenset(words["filler"]) | frozenset(_FUNCTION_WORDS.read_text("utf-8").split())


@cache
def _vocabulary(stored: bytes) -> frozenset[str]:
    problem = Problem.FromString(stored)
    texts = [problem.question]
    for step in problem.steps:
        names = [known.name for known in step.inputs]
        texts += [step.ask, step.explanation, step.result.name, step.result.unit, *names]
    return (frozenset(_words(" ".join(texts))) - _fillers()) | set(book().tables["person"]["words"]["study"])
