"""Turns a conversation into training examples: the tutor's prompts with the answers that followed."""

from collections.abc import Iterator

from soliloquy.recipes.claims import written_claims
from soliloquy.recipes.codegen import written_answers
from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.lessons import calculation_in_chat, chat, lessons_of
from soliloquy.recipes.recipe import Lesson, TrainingMessage
from soliloquy.recipes.seat import refuse_taught
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.recipes.soliloquy.codes import STATE_LETTERS
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.prompting import chat_preamble, tutor_prompts
from soliloquy.v1.conversation_pb2 import Conversation, Turn, TutorReply


def lessons(conversation: Conversation) -> list[Lesson]:
    """Lists the examples in prompt order; skips programs that failed, but keeps the ones that fixed them."""
    refuse_taught(conversation)
    return lessons_of(tutor_prompts(conversation), _answers)


def dialogue(conversation: Conversation) -> list[TrainingMessage]:
    """Writes the conversation as one chat, with the program's output as a tool message."""
    refuse_taught(conversation)
    return chat(conversation, chat_preamble(conversation), _said)


def _said(turn: Turn) -> Iterator[tuple[str, str]]:
    decision, *programs, reply = _answers(turn)
    yield from calculation_in_chat(turn, decision, *programs)
    yield "assistant", reply if programs else f"{decision}\n{reply}"


def _answers(turn: Turn) -> Iterator[str]:
    """Yields one answer per prompt; empty if there is nothing to learn from it."""
    yield from written_answers(turn)
    yield _reply(turn.tutor) if turn.HasField("tutor") else ""


def _reply(reply: TutorReply) -> str:
    labels = TutorLabels.FromString(reply.labels)
    return Reply.written(
        thoughts=reply.thoughts,
        evaluation=EVALUATION_LETTERS[reply.evaluation],
        action=str(labels.action),
        step=str(labels.step),
        state=STATE_LETTERS[labels.state],
        text=reply.text,
        claims=written_claims(reply),
    )
