"""Lets a person take the tutor's place: the moves to choose from, the bounds, and the questions at the end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ValidationError

from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Resolution

# The persona of a tutor who is a person.
TEACHER = "a person"


class TeacherNotes(BaseModel):
    """The notes about a teacher in the field `extra` of a taught conversation."""

    # The pseudonym.
    teacher: str = ""
    # Behind each message.
    seconds: Sequence[float] = ()

    @classmethod
    def read(cls, extra: str) -> Self:
        """Returns empty notes where a seat has written none."""
        try:
            return cls.model_validate_json(extra or "{}")
        except ValidationError:
            return cls()


def is_taught(conversation: Conversation) -> bool:
    """Whether a person was the tutor."""
    return conversation.tutor_persona == TEACHER


def has_person(conversation: Conversation) -> bool:
    """Whether a person spoke, as the student or the tutor: their words are neither taken back nor written anew."""
    return conversation.person or is_taught(conversation)


def refuse_taught(conversation: Conversation) -> None:
    """Raises Refused where training examples are made of a tutor's answers to prompts."""
    if is_taught(conversation):
        raise Refused("a person who tutors answers no prompts: train on conversations whose tutor was a model")


# How a dialogue ended, by the answer to the question `resolved`.
_ENDINGS = {
    "yes": (Ending.ENDING_SOLVED, Resolution.RESOLUTION_SOLVED),
    "revealed": (Ending.ENDING_SOLVED, Resolution.RESOLUTION_REVEALED),
    "no": (Ending.ENDING_TURN_LIMIT, Resolution.RESOLUTION_UNSOLVED),
}


def record_resolution(conversation: Conversation, answers: Mapping[str, Any]) -> None:
    conversation.ending, conversation.resolution = _ENDINGS[answers["resolved"]]


def _nothing(conversation: Conversation) -> str:
    return ""


def _no_plan(conversation: Conversation) -> Sequence[str]:
    return ()


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
    # Empty for a student without a name.
    student_name: Callable[[Conversation], str] = _nothing
    # The student's work before the dialogue; a teacher first marks its first wrong line and says what is wrong.
    handed_in: Callable[[Conversation], str] = _nothing
    record_comparison: Callable[[Conversation, str], None] = lambda conversation, description: None
    # The lines of the plan that the dialogue follows.
    plan: Callable[[Conversation], Sequence[str]] = _no_plan
    # Whether the teacher may run programs, as the recipe's tutor does.
    calculates: bool = False
    # Adds a message with its move to the last turn.
    record_reply: Callable[[Conversation, str, str], None]
    # Says what speaks against sending the latest reply; a teacher may send it all the same.
    warnings: Callable[[Conversation], Sequence[str]]
    # Writes down what the teacher answers, and with it how the dialogue ended.
    record_answers: Callable[[Conversation, Mapping[str, Any]], None] = record_resolution
