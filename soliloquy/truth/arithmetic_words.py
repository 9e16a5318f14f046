"""Takes the words out of written arithmetic: "420 m plus its own 180 m", "divide 15 L by 2.5 L/min"."""

import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise

from soliloquy.truth.arithmetic_policy import LIMITS, WORDS, Order
from soliloquy.truth.written_numbers import Written

_ORDERS = [(re.compile(order.verb, re.I), re.compile(order.between, re.I), order) for order in WORDS.orders]


def without_words(tokens: Sequence[Written]) -> list[Written]:
    """Returns the tokens without the words that belong to a calculation, such as counted things ("3 boxes + 4")."""
    return _without_nouns(_without_fillers(_in_order(list(_multiplied(tokens)))))


def _multiplied(tokens: Sequence[Written]) -> Iterator[Written]:
    """Turns "twice 14" into a product."""
    for token, follows in pairwise((*tokens, Written("break", "", 0, 0))):
        factor = WORDS.multipliers.get(token.text.lower()) if token.kind == "word" else None
        if factor and follows.kind == "number":
            yield Written("number", token.text, token.start, token.end, factor, place=1.0)
            yield Written("operator", "*", token.end, token.end)
        else:
            yield token


def _in_order(tokens: list[Written]) -> list[Written]:
    """Turns "divide 15 L by 2.5 L/min" into a quotient, and "subtract 3 from 10" into a difference."""
    for at in range(len(tokens) - 1, -1, -1):
        if tokens[at].kind == "word":
            for verb, between, order in _ORDERS:
                if verb.fullmatch(tokens[at].text):
                    behind = slice(at + 1, at + 1 + LIMITS.tokens)
                    tokens[behind] = _calculation(tokens[at], tokens[behind], between, order)
    return tokens


def _calculation(verb: Written, tokens: list[Written], between: re.Pattern[str], order: Order) -> list[Written]:
    """Returns the tokens behind a verb, with an operator between its two operands if it has two."""
    middle = next((at for at, token in enumerate(tokens) if at and not _is_noun(token)), 0)
    if not middle or tokens[0].kind != "number" or not between.fullmatch(tokens[middle].text):
        return tokens
    end = middle + 1
    while end < len(tokens) and tokens[end].kind in ("number", "operator"):
        end += 1
    first, sign, last = tokens[0], tokens[middle], tokens[middle + 1 : end]
    if not last or last[0].kind != "number" or middle > LIMITS.nouns + 1:
        return tokens
    if order.swaps:
        if len(last) > 1:
            return tokens
        swapped = (
            last[0]._replace(start=first.start, end=first.end),
            first._replace(start=last[0].start, end=last[0].end),
        )
        first, last = swapped[0], [swapped[1]]
    if len(last) > 1:
        # "divide 4 by 1/8"
        opening, closing = last[0].start, last[-1].end
        last = [Written("open", "(", opening, opening), *last, Written("close", ")", closing, closing)]
    operator = Written("operator", order.sign, sign.start, sign.end)
    return [first._replace(start=verb.start), *tokens[1:middle], operator, *last, *tokens[end:]]


def _is_noun(token: Written) -> bool:
    return token.kind == "word" and token.text.lower() not in WORDS.no_nouns


def _without_fillers(tokens: Sequence[Written]) -> list[Written]:
    """Removes the words between a sign and its number: "plus its own 180 m", "comes to about 48 km"."""
    kept: list[Written] = []
    for at, token in enumerate(tokens):
        before = kept[-1].kind if kept else ""
        words = {"operator": WORDS.fillers, "equals": WORDS.about}.get(before, ())
        if (
            token.kind == "word"
            and token.text.lower() in words
            and _number_follows(tokens[at + 1 : at + LIMITS.tokens], words)
        ):
            if before == "equals":
                kept[-1] = kept[-1]._replace(text="≈")
            continue
        kept.append(token)
    return kept


def _number_follows(tokens: Sequence[Written], words: Container[str]) -> bool:
    behind = next((token for token in tokens if token.kind != "word" or token.text.lower() not in words), None)
    return behind is not None and behind.kind == "number"


def _without_nouns(tokens: Sequence[Written]) -> list[Written]:
    """Removes what is counted between a number or bracket and the sign behind it: "5 pages/day", "93 (average)"."""
    kept: list[Written] = []
    at = 0
    while at < len(tokens):
        if kept and kept[-1].kind in ("number", "close"):
            at = _past_nouns(tokens, at, may_remark=kept[-1].kind == "number")
        if at < len(tokens):
            kept.append(tokens[at])
            at += 1
    return kept


def _past_nouns(tokens: Sequence[Written], at: int, *, may_remark: bool) -> int:
    """Returns where the words for what is counted end; the start if they are none."""
    end = _past_words(tokens, at)
    if tokens[end : end + 1] and tokens[end].text == "/" and (below := _past_words(tokens, end + 1)) > end + 1:
        is_rate = end == at or _are_nouns([*tokens[at:end], tokens[end]])
        if is_rate and _are_nouns(tokens[end + 1 : below + 1]):
            return below
    if may_remark and tokens[at].kind == "open":
        inner = _past_words(tokens, at + 1)
        is_remark = inner > at + 1 and inner < len(tokens) and tokens[inner].kind == "close"
        return inner + 1 if is_remark and _are_nouns(tokens[at + 1 : inner + 1]) else at
    return end if end > at and _are_nouns(tokens[at : end + 1]) else at


def _past_words(tokens: Sequence[Written], at: int) -> int:
    while at < len(tokens) and _is_noun(tokens[at]):
        at += 1
    return at


def _are_nouns(words: Sequence[Written]) -> bool:
    *nouns, sign = words
    ends = sign.kind in ("equals", "close") or (sign.kind == "operator" and sign.text != "^")
    # "kgm-3" is an unknown unit.
    apart = sign.start > nouns[-1].end if nouns and sign.text == "-" else True
    return ends and apart and 0 < len(nouns) <= LIMITS.nouns and len(nouns[0].text) >= LIMITS.shortest_noun
