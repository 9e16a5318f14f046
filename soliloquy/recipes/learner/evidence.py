"""Judges by the words of a tutor's message how strongly it speaks against a misconception.

Nothing here asks what kind of message it is: a "why?" that names nothing is no evidence, whatever its label.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from soliloquy.runtime.beside import table_beside
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.phrases import says
from soliloquy.truth.utterances import content_words
from soliloquy.v1.conversation_pb2 import Misconception, Step

# The message points at what is wrong, or says what is right there.
POINTS, SAYS = 1, 2

_TABLE: Mapping[str, Any] = table_beside(__file__, "evidence.toml")
_SIGNS: Mapping[str, Sequence[str]] = _TABLE["signs"]
_EMPTY = frozenset(_TABLE["judging"]["empty"])
_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?|[×/+√^(-]")
_POWERS = str.maketrans({"²": "^", "³": "^", "·": "×", "*": "×", "−": "-", "÷": "/"})


def strength(message: str, held: Misconception, step: Step) -> int:
    """Returns 0 if a message says nothing about what is wrong, POINTS or SAYS."""
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
    names_it = any(_names(said, message, token, names) for token in (*lacking, *extra))
    signs_it = any(_signs(message, token) for token in (*lacking, *extra))
    if names_it and any(_signs(message, token) for token in lacking):
        return SAYS
    if all(_names(said, message, token, names) or _signs(message, token) for token in right):
        return SAYS
    if says(held.working, step.formula):
        # The formula is right, and a number was put in that is not given.
        put_in, named = values_in(held.working), values_in(message)
        if any(one.value in named - put_in for one in step.inputs):
            return SAYS
        # With the right numbers, it was miscalculated: to be worked out again, once they are named.
        return POINTS if step.inputs and all(one.value in named for one in step.inputs) else 0
    return POINTS if names_it or signs_it else 0


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
    plain = message.casefold()
    return any(word in plain for word in _SIGNS.get(token, ()))


@lru_cache(4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word.casefold().removesuffix("s") for word in content_words(text)) - _EMPTY


def values_in(text: str) -> set[float]:
    """Returns the numbers of a text; of "120 / 8" the quotient and both of its parts."""
    return {number.value for form in {text, text.replace("/", ":")} for number in numbers_in_digits(form)}


def _shared(wanted: Collection[str], said: Collection[str]) -> float:
    return len(set(wanted) & set(said)) / len(wanted) if wanted else 0.0
