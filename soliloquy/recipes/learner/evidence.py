"""Judges by the words of a tutor's message how strongly it speaks against a misconception.

A "why?" that names nothing is no evidence, whatever its label.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from soliloquy.runtime.files import table_beside
from soliloquy.texts.phrases import says
from soliloquy.texts.utterances import content_words
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Misconception, Step

# The message points at what is wrong, or says what is right there.
POINTS, SAYS = 1, 2


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Matches any of these signs and words, and what begins as "add*"."""
    return re.compile("|".join(map(_written, words)), re.IGNORECASE)


def _written(word: str) -> str:
    if not word[0].isalpha():
        return re.escape(word)
    return rf"\b{re.escape(word[:-1])}" if word.endswith("*") else rf"\b{re.escape(word)}\b"


_TABLE: Mapping[str, Any] = table_beside(__file__, "evidence.toml")
_SIGN_WORDS = {sign: _pattern(words) for sign, words in _TABLE["signs"].items()}
_CLAUSES = {name: re.compile("|".join(cues), re.IGNORECASE) for name, cues in _TABLE["clauses"].items()}
_EMPTY = frozenset(_TABLE["judging"]["empty"])
_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?|[×/+√^(-]")
_CLAUSE = re.compile(r"(?<!\d)[.;!?](?!\d)|[.;!?]\s|,\s(?=(?:not|and|so)\b)|,?\s(?=but\b)")
# "3 x 68" as people type it.
_TYPED = re.compile(r"(?<=\d)\s*[xX]\s*(?=\d)")
_POWERS = str.maketrans({"²": "^", "³": "^", "·": "×", "*": "×", "−": "-", "÷": "/"})


def strength(message: str, held: Misconception, step: Step) -> int:
    """Returns 0 if a message says nothing about what is wrong, POINTS or SAYS."""
    clauses = [one for one in _CLAUSE.split(_TYPED.sub(" × ", message)) if one and not _CLAUSES["confirms"].search(one)]
    message = ". ".join(clauses)
    if not step.formula:
        return _against_statement(message, held, step)
    if says(message, step.formula) or says(message, step.formula.partition(" = ")[2]) or _explains(message, step):
        return SAYS
    if step.HasField("result") and step.result.value in values_in(message):
        return SAYS
    wrong, right = _tokens(held.working.partition(" = ")[2].partition(" = ")[0]), _tokens(_right_side(step))
    lacking, extra = right - wrong, wrong - right
    names = {known.symbol: known.name for known in step.inputs}
    said = _stems(message)
    if any(_denies(clause, extra, names) for clause in clauses):
        return SAYS
    names_it = any(_names(said, message, token, names) for token in (*lacking, *extra))
    signs_it = any(_signs(message, token) for token in (*lacking, *extra))
    if names_it and any(_signs(message, token) for token in lacking):
        return SAYS
    valued = {known.symbol for known in step.inputs if known.value in values_in(message)}
    if all(token in valued or _names(said, message, token, names) or _signs(message, token) for token in right):
        return SAYS
    if says(held.working, step.formula):
        # The formula is right, and a number was put in that is not given.
        put_in, named = values_in(held.working), values_in(message)
        if any(one.value in named - put_in for one in step.inputs):
            return SAYS
        # With the right numbers, it was miscalculated: to be worked out again, once they are named.
        return POINTS if step.inputs and all(one.value in named for one in step.inputs) else 0
    return POINTS if names_it or signs_it else 0


def is_bare(message: str) -> bool:
    """Whether a message only asks why or how, and says nothing."""
    asked = message.strip().endswith("?") and not re.search(r"[.!;]", message)
    return asked and not _stems(message) and not values_in(message)


def _denies(clause: str, extra: Collection[str], names: Mapping[str, str]) -> bool:
    """Whether a clause says that a part of the wrong calculation does not belong there."""
    if not _CLAUSES["denies"].search(clause):
        return False
    return any(_names(_stems(clause), clause, token, names) or _signs(clause, token) for token in extra)


def _against_statement(message: str, held: Misconception, step: Step) -> int:
    """Judges a message about an idea, which has no calculation: whether it takes the belief up, or says better."""
    if _explains(message, step):
        return SAYS
    belief = _stems(held.working) - _stems(step.ask)
    return POINTS if _shared(belief, _stems(message)) >= _TABLE["judging"]["taken_up"] else 0


def _explains(message: str, step: Step) -> bool:
    """Whether a message gives the explanation, or most of it in any order."""
    if step.explanation and says(message, step.explanation.rstrip(".")):
        return True
    idea = _stems(step.explanation) - _stems(step.ask)
    return len(idea) > 1 and _shared(idea, _stems(message)) >= _TABLE["judging"]["explained"]


def _right_side(step: Step) -> str:
    return step.formula.partition(" = ")[2] or step.formula


@lru_cache(4096)
def _tokens(formula: str) -> Counter[str]:
    return Counter(_TOKEN.findall(formula.translate(_POWERS)))


def _names(said: Collection[str], message: str, token: str, names: Mapping[str, str]) -> bool:
    """Whether a message names a quantity or says a number."""
    if token[0].isdigit():
        return float(token) in values_in(message)
    name = _stems(names.get(token, ""))
    return bool(name) and name <= set(said)


def _signs(message: str, token: str) -> bool:
    return token in _SIGN_WORDS and bool(_SIGN_WORDS[token].search(message))


@lru_cache(4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word.casefold().removesuffix("s") for word in content_words(text) if word[0].isalpha()) - _EMPTY


def values_in(text: str) -> set[float]:
    """Returns the numbers of a text; of "120 / 8" the quotient and both of its parts."""
    return {number.value for form in {text, text.replace("/", ":")} for number in numbers_in_digits(form)}


def _shared(wanted: Collection[str], said: Collection[str]) -> float:
    return len(set(wanted) & set(said)) / len(wanted) if wanted else 0.0
