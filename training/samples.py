"""Turns a conversation into samples: chats, with the messages that a model learns."""

from collections.abc import Sequence

from soliloquy.recipes.recipe import Lesson, ReplyContext, TrainingMessage, find
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation

Sample = Sequence[TrainingMessage]


def samples(conversation: Conversation, layout: str, given: ReplyContext) -> list[Sample]:
    """`given` only applies to replies. Raises Refused for a conversation without such samples."""
    match layout:
        case "states":
            return states(conversation)
        case "dialogue":
            return [dialogue(conversation)]
        case _:
            return replies(conversation, given)


def states(conversation: Conversation) -> list[Sample]:
    """Returns one sample per prompt of the recipe, worded as when the model is served, with its answer."""
    return [_sample(lesson) for lesson in find(conversation.run.recipe).lessons(conversation)]


def dialogue(conversation: Conversation) -> Sample:
    """Returns the whole conversation as one chat, with the tutor's calculations as tool calls."""
    return find(conversation.run.recipe).dialogue(conversation)


def replies(conversation: Conversation, given: ReplyContext) -> list[Sample]:
    """Returns one sample per message of the tutor, from the dialogue before it and the given extras."""
    name = conversation.run.recipe
    learned = find(name).replies
    if learned is None:
        raise Refused(f"the recipe {name} has no layout: replies: use layout: states")
    return [_sample(lesson) for lesson in learned(conversation, given)]


def _sample(lesson: Lesson) -> Sample:
    prompt = [TrainingMessage(role, text, lesson.turn) for role, text in lesson.prompt.said]
    return [*prompt, TrainingMessage("assistant", lesson.answer, lesson.turn, learned=True)]
