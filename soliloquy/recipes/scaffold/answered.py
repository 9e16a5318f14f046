"""What a message gives as the answer to a sub-question, and which answers a text tells."""

import functools
import math
import re
from collections.abc import Iterator, Sequence

from soliloquy.recipes.scaffold.plan_expected import gives_law, number_in
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.truth.laws import laws_in
from soliloquy.truth.phrases import says
from soliloquy.truth.quantities import Written, quantities_in
from soliloquy.v1.conversation_pb2 import SubQuestion

_DIGIT = re.compile(r"\d")
# Words of an answer that may be a number in words, with its unit.
_SHORT = 4
_TOLERANCE: float = POLICY["talk"]["tolerance"]


@functools.lru_cache(4096)
def expected_number(answer: str) -> Written | None:
    """The number that is expected; None for words, be there numbers in them: "add 72 to 9938", "the two heights"."""
    found = number_in(answer)
    if found is None or found.stated:
        return found
    alone = sum(not one.term for one in quantities_in(answer)) == 1
    return found if alone and (_DIGIT.search(answer) or len(answer.split()) <= _SHORT) else None


@functools.lru_cache(4096)
def is_formula(answer: str) -> bool:
    return expected_number(answer) is None and next(laws_in(answer), None) is not None


def is_number(target: SubQuestion) -> bool:
    """Whether its answer is one that a program can work out."""
    return expected_number(target.answer) is not None


def gives_number(text: str) -> bool:
    return number_in(text) is not None


def right(text: str, target: SubQuestion) -> bool | None:
    """Whether a message gives the expected answer; None where it gives none, or none that can be compared."""
    wanted = expected_number(target.answer)
    if wanted:
        given = number_in(text)
        return None if given is None else _alike(given, wanted)
    if is_formula(target.answer):
        return _gives_formula(text, target.answer)
    return True if says(text, target.answer) else None


def told(text: str, hidden: Sequence[SubQuestion], known: str) -> Iterator[SubQuestion]:
    """The sub-questions whose answers a text tells, but for what is known anyhow."""
    said = quantities_in(text)
    given = _quantities(known)
    for target in hidden:
        wanted = expected_number(target.answer)
        if wanted:
            # That 1 km is given tells nobody that it is 1000 m.
            known_so = any(math.isclose(one.value, wanted.value, rel_tol=_TOLERANCE) for one in given)
            tells = not known_so and any(_alike(one, wanted) for one in said)
        elif is_formula(target.answer):
            tells = bool(_gives_formula(text, target.answer)) and not _gives_formula(known, target.answer)
        else:
            tells = says(text, target.answer) and not says(known, target.answer)
        if tells:
            yield target


# What is known at a place is known to everything that is said there.
@functools.lru_cache(256)
def _quantities(text: str) -> Sequence[Written]:
    return quantities_in(text)


@functools.lru_cache(4096)
def _gives_formula(text: str, answer: str) -> bool | None:
    return gives_law(text, answer)


def _alike(one: Written, other: Written) -> bool:
    """Whether two texts say the same quantity, if only one of them with its unit."""
    if one.unit and other.unit:
        same = one.unit.kind == other.unit.kind
        return same and math.isclose(one.unit.in_base(one.value), other.unit.in_base(other.value), rel_tol=_TOLERANCE)
    return math.isclose(one.value, other.value, rel_tol=_TOLERANCE)
