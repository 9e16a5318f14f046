"""Rules of good conversation for every recipe; the recipe's policy sets the limits."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy.recipes.seat import is_taught
from soliloquy.texts.phrases import is_much_like
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_LABEL = re.compile(r"(?:^|\n|(?<=[.!?])\s)\s*(student|tutor|tutorbot|teacher)\s*:", re.IGNORECASE)
# Of 5,773 published messages one has it: a tutor's note to itself that came out as its reply.
_OUTSIDE = re.compile(r"\b(?:the|this) (student|tutor|tutorbot)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")

Findings = Iterator[tuple[int, str]]
Policy = Mapping[str, Any]


def check_length(conversation: Conversation, turns: Sequence[Turn], policy: Policy) -> Findings:
    is_short = len(conversation.turns) < policy["shortest_turns"]
    if conversation.ending and is_short and not is_taught(conversation):
        yield len(conversation.turns), f"the last one; at least {policy['shortest_turns']} are wanted"
    for turn, speaker, text in _model_messages(conversation, turns):
        words = _words_in(text)
        if speaker == "student" and turn.number == 1:
            # It quotes the problem, which may be long.
            words -= len(conversation.problem.question.split())
        if words > policy[f"longest_{speaker}_words"]:
            yield turn.number, f"the {speaker} uses {words} words"


def check_words(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn, speaker, text in _model_messages(conversation, turns):
        if not _WORD.search(text):
            yield turn.number, f"the {speaker} says {text!r}"


def check_speaker(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn, speaker, text in _model_messages(conversation, turns):
        others = (label for label in _LABEL.finditer(text) if label.start() or label[1].lower() != speaker)
        if ":" in text and (label := next(others, None)):
            yield turn.number, f"the {speaker}'s message holds {label[0].strip()!r}"
        elif (outside := _OUTSIDE.search(text)) and outside[1].lower() not in conversation.problem.question.lower():
            yield turn.number, f"the {speaker}'s message speaks of {outside[0]!r}, instead of to the other"


def check_repetition(conversation: Conversation, turns: Sequence[Turn], policy: Policy) -> Findings:
    """Finds messages that say what their speaker has said, in nearly the same words and with the same numbers."""
    for turn, speaker, text, before in _repeatable(conversation, turns, policy):
        long = _words_in(text) >= policy["same_words_from"]
        if text in before or (long and any(_says_the_same(text, one, policy["same_words"]) for one in before)):
            yield turn.number, f"the {speaker} repeats {text[:40]!r}"


def check_loop(conversation: Conversation, turns: Sequence[Turn], policy: Policy) -> Findings:
    """Finds messages that their speaker has given twice before, word for word."""
    for turn, speaker, text, before in _repeatable(conversation, turns, policy):
        words = _WORD.findall(text.casefold())
        if sum(_WORD.findall(one.casefold()) == words for one in before) > 1:
            yield turn.number, f"the {speaker} says {text[:40]!r} a third time"


def _repeatable(
    conversation: Conversation, turns: Sequence[Turn], policy: Policy
) -> Iterator[tuple[Turn, str, str, Sequence[str]]]:
    """Yields each message with those of its speaker before it; short ones such as a single number may be repeated."""
    said: dict[str, list[str]] = {"student": [], "tutor": []}
    first = turns[0].number if turns else 0
    for turn, speaker, text in _model_messages(conversation, conversation.turns):
        if turn.number >= first:
            yield turn, speaker, text, said[speaker]
        if _words_in(text) >= policy["repeated_from"]:
            said[speaker].append(text)


def _says_the_same(text: str, other: str, share: float) -> bool:
    return _numbers_of(text) == _numbers_of(other) and is_much_like(text, other, share)


# Each message is compared with all that come after it.
@functools.lru_cache(4096)
def _words_in(text: str) -> int:
    return len(text.split())


@functools.lru_cache(4096)
def _numbers_of(text: str) -> tuple[str, ...]:
    return tuple(_NUMBER.findall(text))


def _model_messages(conversation: Conversation, turns: Sequence[Turn]) -> Iterator[tuple[Turn, str, str]]:
    """Skips the messages of a person, who may write in any way."""
    for turn in turns:
        for speaker, text in messages(turn):
            if not (is_taught(conversation) if speaker == "tutor" else conversation.person):
                yield turn, speaker, text


def messages(turn: Turn) -> list[tuple[str, str]]:
    """Returns speaker and text of each message of a turn; either may be missing where a dialogue begins or ends."""
    said = [("student", turn.student.text)] if turn.HasField("student") else []
    return [*said, ("tutor", turn.tutor.text)] if turn.HasField("tutor") else said
