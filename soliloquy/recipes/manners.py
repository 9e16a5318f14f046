"""Rules of good conversation for every recipe; the recipe's policy sets the limits."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy.truth.phrases import is_much_like
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_LABEL = re.compile(r"(?:^|\n|(?<=[.!?])\s)\s*(student|tutor|tutorbot|teacher)\s*:", re.IGNORECASE)
_WORD = re.compile(r"\w+")

Findings = Iterator[tuple[int, str]]
Policy = Mapping[str, Any]


def check_length(conversation: Conversation, turns: Sequence[Turn], policy: Policy) -> Findings:
    if conversation.ending and len(conversation.turns) < policy["shortest_turns"]:
        yield len(conversation.turns), f"the last one; at least {policy['shortest_turns']} are wanted"
    for turn, speaker, text in _model_messages(conversation, turns):
        words = len(text.split())
        if words > policy[f"longest_{speaker}_words"]:
            yield turn.number, f"the {speaker} uses {words} words"


def check_words(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn, speaker, text in _model_messages(conversation, turns):
        if not _WORD.search(text):
            yield turn.number, f"the {speaker} says {text!r}"


def check_speaker(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn, speaker, text in _model_messages(conversation, turns):
        if ":" not in text:
            continue
        others = (label for label in _LABEL.finditer(text) if label.start() or label[1].lower() != speaker)
        if label := next(others, None):
            yield turn.number, f"the {speaker}'s message holds {label[0].strip()!r}"


def check_repetition(conversation: Conversation, turns: Sequence[Turn], policy: Policy) -> Findings:
    said: dict[str, list[str]] = {"student": [], "tutor": []}
    first = turns[0].number if turns else 0
    for turn, speaker, text in _model_messages(conversation, conversation.turns):
        before = said[speaker]
        long = turn.number >= first and len(text.split()) >= policy["same_words_from"]
        if turn.number >= first and (
            text in before or (long and any(is_much_like(text, one, policy["same_words"]) for one in before))
        ):
            yield turn.number, f"the {speaker} repeats {text[:40]!r}"
        # Short messages such as a single number may be repeated.
        if len(text.split()) >= policy["repeated_from"]:
            before.append(text)


def _model_messages(conversation: Conversation, turns: Sequence[Turn]) -> Iterator[tuple[Turn, str, str]]:
    """Skips the messages of a person, who may write in any way."""
    for turn in turns:
        for speaker, text in messages(turn):
            if speaker == "tutor" or not conversation.person:
                yield turn, speaker, text


def messages(turn: Turn) -> list[tuple[str, str]]:
    """Returns speaker and text of each message of a turn; either may be missing where a dialogue begins or ends."""
    said = [("student", turn.student.text)] if turn.HasField("student") else []
    return [*said, ("tutor", turn.tutor.text)] if turn.HasField("tutor") else said
