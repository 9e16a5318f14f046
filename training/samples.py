"""A conversation as samples: messages in the form of any chat API, and which of them a model is to learn."""

from collections.abc import Sequence
from dataclasses import dataclass

from soliloquy.recipes.recipe import ChatMessage, Lesson, ReplyContext, find
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    # Of the conversation.
    id: str
    messages: Sequence[ChatMessage]


def samples(conversation: Conversation, layout: str, given: ReplyContext) -> list[Sample]:
    """`given` is for replies alone. Raises Refused for a conversation that has no such samples."""
    match layout:
        case "states":
            return states(conversation)
        case "dialogue":
            return dialogue(conversation)
        case _:
            return replies(conversation, given)


def states(conversation: Conversation) -> list[Sample]:
    """One sample a prompt of the recipe's: what it asks when the model is served, and the answer to it."""
    lessons = find(conversation.run.recipe).lessons(conversation)
    return [_sample(conversation, lesson) for lesson in lessons]


def dialogue(conversation: Conversation) -> list[Sample]:
    """The whole conversation as one chat, in which the tutor's calculations are calls of a tool."""
    return [Sample(id=conversation.id, messages=find(conversation.run.recipe).dialogue(conversation))]


def replies(conversation: Conversation, given: ReplyContext) -> list[Sample]:
    """One sample a message of the tutor's, from what was said before it and what is given besides."""
    name = conversation.run.recipe
    learned = find(name).replies
    if learned is None:
        raise Refused(f"the recipe {name} has no replies apart from what it asks: use layout: states")
    return [_sample(conversation, lesson) for lesson in learned(conversation, given)]


def _sample(conversation: Conversation, lesson: Lesson) -> Sample:
    turn = lesson.turn
    told = [ChatMessage(role, text, turn) for role, text in lesson.prompt.said]
    told.append(ChatMessage("assistant", lesson.answer, turn, learned=True))
    return Sample(id=conversation.id, messages=told)
