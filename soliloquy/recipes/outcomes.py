"""Builds what every recipe's roles emit next: a calculation, the student's next message, or the end."""

from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Ending, Resolution
from soliloquy.v1.events_pb2 import CalculationNeeded, ConversationFinished, TutorReplied


def calculate(conversation: Conversation, description: str) -> Outcome:
    conversation.turns[-1].calculation.CopyFrom(Calculation(description=description))
    return emit(CalculationNeeded(conversation=conversation))


def after_reply(conversation: Conversation, resolution: Resolution | None, *, most_turns: int) -> Outcome:
    """Ends a conversation that is solved, or at its limit of turns; before that the student answers the reply."""
    if resolution is not None:
        conversation.resolution = resolution
        return finish(conversation, Ending.ENDING_SOLVED)
    if len(conversation.turns) < min(conversation.run.max_turns, most_turns):
        return emit(TutorReplied(conversation=conversation))
    conversation.resolution = Resolution.RESOLUTION_UNSOLVED
    return finish(conversation, Ending.ENDING_TURN_LIMIT)


def finish(conversation: Conversation, ending: Ending, reason: str = "") -> Outcome:
    conversation.ending, conversation.ending_reason = ending, reason
    return emit(ConversationFinished(conversation=conversation))
