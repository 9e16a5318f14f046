"""Reads the collector's word on a conversation: the rules that it breaks, and whether its problem is given up."""

from collections.abc import Iterable

from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.events_pb2 import ConversationCollected


def broken_rules(reasons: Iterable[str]) -> list[str]:
    """Returns the rules that the reasons of a rejection name, each once: "length: turn 2: long" names length."""
    return sorted({reason.partition(":")[0] for reason in reasons})


def is_given_up(collected: ConversationCollected) -> bool:
    """Whether its problem has no attempt left and none was accepted."""
    conversation = collected.conversation
    last = conversation.attempt + 1 >= conversation.run.max_attempts
    return not collected.accepted and (last or conversation.ending == Ending.ENDING_UNFIT)
