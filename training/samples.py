"""A conversation as samples: messages in the form of any chat API, and which of them a model is to learn."""

from collections.abc import Sequence
from dataclasses import dataclass

from soliloquy.v1.conversation_pb2 import Conversation

from services.recipes.recipe import Told, find


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    # Of the conversation.
    id: str
    messages: Sequence[Told]


def samples(conversation: Conversation, layout: str) -> list[Sample]:
    return _LAYOUTS[layout](conversation)


def states(conversation: Conversation) -> list[Sample]:
    """One sample a prompt of the recipe's: what it asks when the model is served, and the answer to it."""
    return [
        Sample(
            id=conversation.id,
            messages=[
                *(Told(message.role, message.text, lesson.turn) for message in lesson.prompt.messages),
                Told("assistant", lesson.answer, lesson.turn, learned=True),
            ],
        )
        for lesson in find(conversation.run.recipe).lessons(conversation)
    ]


def dialogue(conversation: Conversation) -> list[Sample]:
    """The whole conversation as one chat, in which the tutor's calculations are calls of a tool."""
    return [Sample(id=conversation.id, messages=find(conversation.run.recipe).dialogue(conversation))]


_LAYOUTS = {"states": states, "dialogue": dialogue}
