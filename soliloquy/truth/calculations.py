"""Finds the calculations that a text writes out and works them through with their units: "7 * 5 = 36 m^2" is false.

Only what is certainly false is called false. A chain such as "F = 50 kg × 10 m/s² = 500 N" is judged link by link.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from soliloquy.truth.arithmetic_parser import Reading, reading
from soliloquy.truth.arithmetic_policy import MOST_NOUNS, MOST_TOKENS, SHORTEST_NOUN, WORDS
from soliloquy.truth.measured_values import agree, converts, in_unit_of, is_another_quantity, restates_share
from soliloquy.truth.written_arithmetic import ROUGHLY, Written, is_restated, may_equate_numbers, tokens_of

_ORDERS = tuple(WORDS["orders"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Calculation:
    """One link of a chain: an expression with an operator, and what the text says that it comes to."""

    start: int
    end: int
    text: str
    # In Python's notation, without units.
    expression: str
    # The value of the expression, and the value that the text states, with its unit.
    value: float
    stated: float
    unit: str
    stated_at: int
    right: bool
    # The stated unit if the expression comes to another quantity: "3 m × 4 m = 12 m"; empty if it may fit.
    wrong_unit: str = ""


# Several checks read the same solution, and the same reply.
@lru_cache(4096)
def calculations_of(text: str) -> Sequence[Calculation]:
    """Returns every calculation of a text that can be worked through, in order."""
    if not may_equate_numbers(text):
        return ()
    return tuple(link for tokens in lines_of(text) for link in _links(tokens, text))


def results_in(text: str) -> Iterator[float]:
    """Yields what each written calculation may come to, also where the text does not say it."""
    for tokens in lines_of(text):
        for part in sides_of(tokens)[0]:
            for start, _ in _starts(part[:MOST_TOKENS], goes_on=True):
                found = reading(part[start:MOST_TOKENS])
                if found and found.operations:
                    yield found.value.number


def lines_of(text: str) -> Iterator[Sequence[Written]]:
    """Yields the tokens between two breaks."""
    tokens: list[Written] = []
    for token in without_words(tokens_of(text)):
        if token.kind == "break":
            yield tokens
            tokens = []
        else:
            tokens.append(token)
    yield tokens


def sides_of(tokens: Sequence[Written]) -> tuple[list[list[Written]], list[Written]]:
    """Returns the sides of a chain, and the signs between them."""
    parts: list[list[Written]] = [[]]
    signs: list[Written] = []
    for token in tokens:
        if token.kind == "equals":
            signs.append(token)
            parts.append([])
        else:
            parts[-1].append(token)
    return parts, signs


def _links(tokens: Sequence[Written], text: str) -> Iterator[Calculation]:
    parts, signs = sides_of(tokens)
    pairs = [(left, right, sign.text) for (left, right), sign in zip(pairwise(parts), signs, strict=True)]
    first, last = parts[0], parts[-1]
    if len(parts) > 2 and len(first) == len(last) == 1 and first[0].unit and last[0].unit:
        # A chain states one quantity: "54 km/h = 54 / 3.6 = 15 m/s".
        has_words = any(token.kind == "word" for part in parts for token in part)
        pairs += [(first, last, "=")] if not has_words and all(sign.text == "=" for sign in signs) else []
    for left, right, sign in pairs:
        if len(left) > MOST_TOKENS:
            continue
        right = right[:MOST_TOKENS]
        goes_on = left is not first
        link = _link(left, right, text, sign=sign, goes_on=goes_on)
        if (link is None or not link.right) and any(one.ambiguous or one.scale != 1.0 for one in (*left, *right)):
            other = _link(_otherwise(left), _otherwise(right), text, sign=sign, goes_on=goes_on)
            link = other if other is not None and other.right else link
        if link is not None:
            yield link


def _otherwise(tokens: Sequence[Written]) -> list[Written]:
    """Reads "1.920" as the continent does, and "4 dozen" as four of what is counted."""
    grouped = [one._replace(value=one.value * 1000, place=1.0) if one.ambiguous else one for one in tokens]
    return [one._replace(rounded=one.rounded and not one.ambiguous, scale=1.0) for one in grouped]


def _link(
    left: Sequence[Written], right: Sequence[Written], text: str, *, sign: str, goes_on: bool
) -> Calculation | None:
    stated = [*_stated(right)]
    if not stated:
        return None
    end = right[stated[0].at - 1].end
    ends_there = _ends_there(right, end)
    may_convert = sign == "=" or (is_restated(sign) and right[-1].end == end)
    false: Calculation | None = None
    # A dash before a negative result is a minus sign.
    for start, certain in _starts(left, goes_on=goes_on or right[0].text == "-"):
        side = left[start:]
        found = reading(side)
        if found is None or found.at != len(side):
            continue
        value = found.value
        for other in stated:
            told = other.value
            if not (found.operations or restates_share(value, told) or (may_convert and converts(value, told))):
                continue
            last = right[other.at - 1]
            unit = "" if last.text[0] in "$£€" else last.unit_text
            link = Calculation(
                start=left[start].start,
                end=last.end,
                text=text[left[start].start : last.end],
                expression=found.python,
                value=in_unit_of(value, told),
                stated=told.number,
                unit=unit,
                stated_at=right[0].start,
                right=agree(value, told, about=sign in ROUGHLY),
                wrong_unit=unit if is_another_quantity(value, told) else "",
            )
            if link.right:
                return link
            is_certain = certain and ends_there and not (found.is_ambiguous or other.is_ambiguous)
            # The unit of "5m + 3 = 18" is an unknown.
            if is_certain and (told.has_unit or value.si is not None):
                false = false or link
    return false


def _ends_there(right: Sequence[Written], end: int) -> bool:
    """Whether the parsed number is all that the text states: "2 (9.8) s" may be a product."""
    rest = next((token for token in right if token.start >= end), None)
    if rest is None or rest.kind == "close":
        return True
    parts = sum(token.start < end for token in right)
    # A short word behind a product may be another factor.
    return rest.kind == "word" and len(rest.text) >= (SHORTEST_NOUN if parts > 1 else 2)


def _starts(left: Sequence[Written], *, goes_on: bool) -> Iterator[tuple[int, bool]]:
    """Yields where a calculation may begin, earliest first, and whether it then certainly does."""
    for at, token in enumerate(left):
        before = left[at - 1] if at else None
        if token.kind != "word" and (before is None or before.kind == "word"):
            # The sign may be a bullet or a dash.
            is_attached = at + 1 < len(left) and left[at + 1].start == token.end
            is_sign = before is None and token.text == "-" and (is_attached or goes_on)
            # "half of 2/3 is 1/3", "divide 4 by 1/8 to get 32"; "a total of 3 + 4" begins here.
            is_operand = before is not None and before.text.lower() in WORDS["operands"]
            is_ordered = is_operand and any(one.text.lower().startswith(_ORDERS) for one in left[: at - 1])
            yield at, not is_ordered and (token.kind != "operator" or is_sign)


def _stated(right: Sequence[Written]) -> Iterator[Reading]:
    """Yields what stands behind an equals sign: all of it, and its first number ("5 * 2 = 10 + 3 = 13")."""
    if whole := reading(right):
        yield whole
        if whole.operations and (first := reading(right, is_operand=True)):
            yield first


def without_words(tokens: Sequence[Written]) -> list[Written]:
    """Returns the tokens without the words between a sign and its number, and without the things that are counted.

    As in "420 m plus its own 180 m = about 600", "3 boxes + 4" and "5 pages/day".
    """
    kept: list[Written] = []
    at = 0
    while at < len(tokens):
        token, before = tokens[at], kept[-1].kind if kept else ""
        if before in ("number", "close") and (end := _past_nouns(tokens, at)) > at:
            at = end
            continue
        if before == "equals" and token.text.lower() in WORDS["about"]:
            kept[-1] = kept[-1]._replace(text="≈")
        elif before != "operator" or token.text.lower() not in WORDS["fillers"]:
            kept.append(token)
        at += 1
    return kept


def _past_nouns(tokens: Sequence[Written], at: int) -> int:
    """Returns where the words for what is counted end; the start if they are none."""
    end = _past_words(tokens, at)
    are_nouns = _are_nouns(tokens[at : end + 1])
    if tokens[end : end + 1] and tokens[end].text == "/" and (end == at or are_nouns):
        below = _past_words(tokens, end + 1)
        if _are_nouns(tokens[end + 1 : below + 1]):
            return below
    return end if are_nouns else at


def _past_words(tokens: Sequence[Written], at: int) -> int:
    while at < len(tokens) and tokens[at].kind == "word" and tokens[at].text.lower() not in WORDS["no_nouns"]:
        at += 1
    return at


def _are_nouns(words: Sequence[Written]) -> bool:
    """Whether all but the last are things that are counted, and the last is a sign behind them."""
    if not 1 < len(words) <= MOST_NOUNS + 1 or len(words[0].text) < SHORTEST_NOUN:
        return False
    sign = words[-1]
    return sign.kind in ("equals", "close") or (sign.kind == "operator" and sign.text != "^")
