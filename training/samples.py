"""Turns a conversation into samples: chats, with the messages that a model learns."""

from collections.abc import Sequence
from copy import deepcopy

from soliloquy.recipes.recipe import Lesson, ReplyContext, TrainingMessage, find
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation

Sample = Sequence[TrainingMessage]
ALL_EXTRAS = ReplyContext()


def samples(
    conversation: Conversation, layout: str, given: ReplyContext = ALL_EXTRAS, manual: str = "detailed"
) -> list[Sample]:
    """`given` only applies to replies, `manual` to dialogues. Raises Refused for a conversation without such samples.

    The prompts of states are worded as when the model is served, or as in a run that changed them;
    replies follow from the dialogue before them.
    """
    recipe = find(conversation.run.recipe)
    if layout == "dialogue":
        return [recipe.dialogue(_outlined(conversation) if manual == "outline" else conversation)]
    if layout == "states":
        return [_sample(lesson) for lesson in recipe.lessons(conversation)]
    if recipe.replies is None:
        raise Refused(f"the recipe {conversation.run.recipe} has no layout: replies: use layout: states")
    return [_sample(lesson) for lesson in recipe.replies(conversation, given)]


def _outlined(conversation: Conversation) -> Conversation:
    """Puts the outline of the solution in place of the detailed one; a problem without an outline stays as it is."""
    if not (outline := conversation.problem.enrichment.outline):
        return conversation
    outlined = deepcopy(conversation)
    outlined.problem.enrichment.detailed_solution = outline
    return outlined


def _sample(lesson: Lesson) -> Sample:
    prompt = [TrainingMessage(role, text, lesson.turn) for role, text in lesson.prompt.said]
    return [*prompt, TrainingMessage("assistant", lesson.answer, lesson.turn, learned=True)]
