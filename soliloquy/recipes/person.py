"""How a person takes the student's place: what of a reply is shown while it is written, and where a message goes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from soliloquy.runtime.events import Outcome
from soliloquy.v1.conversation_pb2 import Conversation, StudentReply
from soliloquy.v1.events_pb2 import ConversationStarted

# What a student may read of an answer, from as much of it as is there.
SoFar = Callable[[str], str]


def said(conversation: Conversation, text: str) -> None:
    """A turn more, with nothing drawn for the student."""
    conversation.turns.add(number=len(conversation.turns) + 1, student=StudentReply(text=text))


def heard(conversation: Conversation, text: str) -> None:
    conversation.turns[-1].tutor.text = text


@dataclass(frozen=True, kw_only=True)
class Person:
    # By the name of the prompt that it answers; what answers any other prompt is not for the student.
    shown: Mapping[str, SoFar]
    # The turn with which the tutor begins; None where the first word is the student's.
    begins: Callable[[ConversationStarted], Outcome] | None = None
    # What the student is taken to have said before the first turn.
    handed_in: Callable[[Conversation], str] = lambda _: ""
    says: Callable[[Conversation, str], None] = said
    # Takes up an earlier reply of which nothing but its text is known.
    hears: Callable[[Conversation, str], None] = heard
