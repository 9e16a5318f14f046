"""Takes the words out of written arithmetic: "420 m plus its own 180 m = about 600", "3 boxes + 4", "5 pages/day"."""

from collections.abc import Sequence

from soliloquy.truth.arithmetic_policy import MOST_NOUNS, SHORTEST_NOUN, WORDS
from soliloquy.truth.written_arithmetic import Written


def without_words(tokens: Sequence[Written]) -> list[Written]:
    """Returns the tokens without the words between a sign and its number, and without the things that are counted."""
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
    if tokens[end : end + 1] and tokens[end].text == "/" and (end == at or _are_nouns(tokens[at : end + 1])):
        below = _past_words(tokens, end + 1)
        if _are_nouns(tokens[end + 1 : below + 1]):
            return below
    return end if _are_nouns(tokens[at : end + 1]) else at


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
