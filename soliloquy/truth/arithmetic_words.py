"""Takes the words out of written arithmetic: "420 m plus its own 180 m", "3 boxes + 4", "5 pages/day"."""

from collections.abc import Sequence

from soliloquy.truth.arithmetic_policy import MOST_NOUNS, MOST_TOKENS, SHORTEST_NOUN, WORDS
from soliloquy.truth.written_arithmetic import Written


def without_words(tokens: Sequence[Written]) -> list[Written]:
    """Returns the tokens without fillers, and without the counted things between a number and the sign behind it."""
    tokens = _without_fillers(tokens)
    kept: list[Written] = []
    at = 0
    while at < len(tokens):
        if kept and kept[-1].kind in ("number", "close"):
            at = _past_nouns(tokens, at)
        kept += tokens[at : at + 1]
        at += 1
    return kept


def _without_fillers(tokens: Sequence[Written]) -> list[Written]:
    """Removes the words between a sign and its number: "plus its own 180 m", "comes to about 48 km"."""
    kept: list[Written] = []
    for at, token in enumerate(tokens):
        before = kept[-1].kind if kept else ""
        words = WORDS["fillers"] if before == "operator" else WORDS["about"] if before == "equals" else ()
        if token.kind == "word" and token.text.lower() in words:
            behind = (one for one in tokens[at : at + MOST_TOKENS] if one.text.lower() not in words)
            if (follows := next(behind, None)) and follows.kind == "number":
                kept[-1] = kept[-1]._replace(text="≈") if before == "equals" else kept[-1]
                continue
        kept.append(token)
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
