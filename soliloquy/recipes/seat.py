"""Lets a person take the tutor's place: the moves to choose from, the bounds, and the questions at the end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.v1.conversation_pb2 import Conversation

# The persona of a tutor who is a person.
TEACHER = "a person"


def is_taught(conversation: Conversation) -> bool:
    """Whether a person was the tutor."""
    return conversation.tutor_persona == TEACHER


def has_person(conversation: Conversation) -> bool:
    """Whether a person spoke, as the student or the tutor: their words are neither taken back nor written anew."""
    return conversation.person or is_taught(conversation)


def record_reply(conversation: Conversation, text: str, move: str) -> None:
    conversation.turns[-1].tutor.text = text


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """How a recipe seats a teacher."""

    # The meaning of each move, by its name; a teacher chooses one before each message. Empty where there are none.
    moves: Mapping[str, str]
    # The dialogue ends after so many messages of the teacher, or so many minutes.
    most_turns: int
    most_minutes: float
    # The annotation scheme that the teacher answers at the end.
    questionnaire: str
    student_name: Callable[[Conversation], str]
    # The student's work before the dialogue; a teacher first marks its first wrong line and says what is wrong.
    handed_in: Callable[[Conversation], str]
    record_comparison: Callable[[Conversation, str], None]
    record_reply: Callable[[Conversation, str, str], None] = record_reply
    # Says what speaks against sending the latest reply; a teacher may send it all the same.
    warnings: Callable[[Conversation], Sequence[str]]
    # Writes down what the teacher answers, and with it how the dialogue ended.
    record_answers: Callable[[Conversation, Mapping[str, Any]], None]
