"""Lets a person take the student's place: which part of a streamed answer to show, and where each message is stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from soliloquy.runtime.events import Outcome
from soliloquy.v1.conversation_pb2 import Conversation, StudentReply
from soliloquy.v1.events_pb2 import ConversationStarted

# Extracts the text that a student may see from an answer that is still incomplete.
VisibleText = Callable[[str], str]


def record_student_message(conversation: Conversation, text: str) -> None:
    """Appends a turn without an intent: nothing is drawn for a person."""
    conversation.turns.add(number=len(conversation.turns) + 1, student=StudentReply(text=text))


def record_tutor_reply(conversation: Conversation, text: str) -> None:
    conversation.turns[-1].tutor.text = text


@dataclass(frozen=True, kw_only=True, slots=True)
class Guide:
    """Tells a person beforehand what the scripted tutor understands."""

    # The kinds of messages that it understands.
    understands: Sequence[str] = ()
    # Messages to begin with.
    suggestions: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Person:
    # Keyed by prompt name; answers to all other prompts stay hidden.
    visible_text: Mapping[str, VisibleText]
    # Creates the turn with which the tutor opens; None if the student speaks first.
    open: Callable[[ConversationStarted], Outcome] | None = None
    # The work that the student is assumed to have handed in before the first turn.
    prior_work: Callable[[Conversation], str] = lambda _: ""
    record_student: Callable[[Conversation, str], None] = record_student_message
    # The messages that the stand-in understands; None if it tutors nobody.
    guide: Guide | None = None
    # Adds an earlier reply of which only the text is known.
    record_tutor: Callable[[Conversation, str], None] = record_tutor_reply
