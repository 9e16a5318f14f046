"""Turns a completion into an answer: its words without its thoughts, or the reason why it has none."""

import json
import re
from typing import NamedTuple, TypeVar

from soliloquy.runtime.answers import Answer, Refusal, Unreadable, is_refusal
from soliloquy.runtime.thoughts import parts_of
from soliloquy.v1.conversation_pb2 import ParseOutcome
from soliloquy.v1.model_pb2 import Completion, Finish

# An object that was finished, whatever was to follow it.
_WHOLE = re.compile(r"\}\s*`*\s*\Z")

_DIGITS = re.compile(r"\d+")
# A repetition has so many characters in all; small models have repeated up to 618.
_REPETITION, _LONGEST_REPETITION = 600, 2400
# An asker quotes so many of them.
_BEGINNING = 300


class CutOff(Unreadable):
    """The answer reached its limit of tokens."""


class Endless(CutOff):
    """The answer repeats itself up to the limit, so that more room would hold more of the same."""

    def __init__(self, beginning: str) -> None:
        super().__init__("it repeats itself without end")
        self.beginning = beginning


class Filtered(Unreadable):
    """The endpoint's content filter stopped the answer."""


class Empty(Unreadable):
    """The answer has no words."""


# How a call ends whose last attempt failed in this way.
OUTCOMES: dict[type[Unreadable], ParseOutcome] = {
    Refusal: ParseOutcome.PARSE_OUTCOME_REFUSED,
    Filtered: ParseOutcome.PARSE_OUTCOME_FILTERED,
    CutOff: ParseOutcome.PARSE_OUTCOME_CUT_OFF,
    Endless: ParseOutcome.PARSE_OUTCOME_CUT_OFF,
    Empty: ParseOutcome.PARSE_OUTCOME_EMPTY,
}


A = TypeVar("A", bound=Answer)


class Words(NamedTuple):
    text: str
    thoughts: str


def words_of(completion: Completion) -> Words:
    """Returns what the model said, apart from what it thought."""
    parts = parts_of(completion.text)
    if parts.thoughts and _is_object(completion.text):
        # A mark in a string of an answer ends no thought.
        return Words(completion.text, completion.reasoning)
    return Words(parts.words, "\n\n".join(filter(None, (completion.reasoning, parts.thoughts))))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def read_words(completion: Completion, words: Words, answer: type[A]) -> tuple[A, bool]:
    """Returns the answer, and whether it was exactly as asked; raises Unreadable with the reason why there is none."""
    is_whole = completion.finish == Finish.FINISH_LENGTH and _WHOLE.search(words.text) is not None
    if not is_whole:
        _check_finish(completion, words)
    try:
        return answer.read(words.text)
    except Unreadable as unreadable:
        if is_whole:
            raise CutOff("it reached the limit of tokens") from unreadable
        if is_refusal(words.text):
            raise Refusal(words.text) from unreadable
        raise


def _check_finish(completion: Completion, words: Words) -> None:
    if completion.finish == Finish.FINISH_FILTER:
        raise Filtered("a content filter stopped it")
    if completion.finish == Finish.FINISH_REFUSAL:
        raise Refusal(words.text)
    if completion.finish == Finish.FINISH_LENGTH:
        if repeats_itself(words.text):
            raise Endless(words.text[:_BEGINNING])
        raise CutOff(
            "it reached the limit of tokens" + (" while thinking" if words.thoughts and not words.text else "")
        )
    if not words.text.strip():
        raise Empty("it has no words")


def repeats_itself(text: str) -> bool:
    """Returns whether the end says the same three times, except for numbers that may count."""
    end = _DIGITS.sub("0", text)[-_LONGEST_REPETITION:]
    for period in range(1, len(end) // 3 + 1):
        repeated = end[-max(_REPETITION, 3 * period) :]
        if len(repeated) >= _REPETITION and repeated[period:] == repeated[:-period]:
            return True
    return False
