"""Turns a conversation into samples: chat messages, and which of them a model learns."""

from collections.abc import Sequence
from dataclasses import dataclass

from soliloquy.recipes.recipe import Lesson, ReplyContext, TrainingMessage, find
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    # The id of the conversation.
    id: str
    messages: Sequence[TrainingMessage]


def samples(conversation: Conversation, layout: str, given: ReplyContext) -> list[Sample]:
    """`given` only applies to replies. Raises Refused for a conversation without such samples."""
    match layout:
        case "states":
            return states(conversation)
        case "dialogue":
            return dialogue(conversation)
        case _:
            return replies(conversation, given)


def states(conversation: Conversation) -> list[Sample]:
    """Returns one sample per prompt of the recipe, worded as when the model is served, with its answer."""
    lessons = find(conversation.run.recipe).lessons(conversation)
    return [_sample(conversation, lesson) for lesson in lessons]


def dialogue(conversation: Conversation) -> list[Sample]:
    """Returns the whole conversation as one chat, with the tutor's calculations as tool calls."""
    return [Sample(id=conversation.id, messages=find(conversation.run.recipe).dialogue(conversation))]


def replies(conversation: Conversation, given: ReplyContext) -> list[Sample]:
    """Returns one sample per message of the tutor, from the dialogue before it and the given extras."""
    name = conversation.run.recipe
    learned = find(name).replies
    if learned is None:
        raise Refused(f"the recipe {name} has no layout: replies: use layout: states")
    return [_sample(conversation, lesson) for lesson in learned(conversation, given)]


def _sample(conversation: Conversation, lesson: Lesson) -> Sample:
    turn = lesson.turn
    messages = [TrainingMessage(role, text, turn) for role, text in lesson.prompt.said]
    messages.append(TrainingMessage("assistant", lesson.answer, turn, learned=True))
    return Sample(id=conversation.id, messages=messages)
