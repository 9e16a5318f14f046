"""Conversations in other languages as the readers know them; rules and checks read these copies."""

from soliloquy.truth.locales import gloss, glossed
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def glossed_turn(turn: Turn, language: str) -> Turn:
    if not language:
        return turn
    read = Turn()
    read.CopyFrom(turn)
    if read.HasField("student"):
        read.student.text = gloss(turn.student.text, language)
    if read.HasField("tutor"):
        read.tutor.text = gloss(turn.tutor.text, language)
        read.tutor.thoughts = gloss(turn.tutor.thoughts, language)
    if read.HasField("calculation"):
        read.calculation.description = gloss(turn.calculation.description, language)
    return read


def glossed_conversation(conversation: Conversation) -> Conversation:
    """Returns a copy whose problem and messages are glossed; English as it is."""
    if not (language := conversation.problem.language):
        return conversation
    read = Conversation()
    read.CopyFrom(conversation)
    read.problem.CopyFrom(glossed(conversation.problem))
    del read.turns[:]
    read.turns.extend(glossed_turn(turn, language) for turn in conversation.turns)
    return read
