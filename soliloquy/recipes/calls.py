"""The model calls of a conversation, with those of turns that were taken back: they were paid too."""

from collections.abc import Iterator
from itertools import chain

from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, ParseOutcome, Turn

# An answer was read, at once or when it was asked for again.
USABLE = (
    ParseOutcome.PARSE_OUTCOME_STRICT,
    ParseOutcome.PARSE_OUTCOME_REPAIRED,
    ParseOutcome.PARSE_OUTCOME_REASKED,
)


def calls_of(conversation: Conversation) -> Iterator[ModelCall]:
    """Yields the calls for the enrichment, which all conversations about the problem share, and those of turns."""
    return chain(conversation.problem.enrichment.calls, calls_of_turns(conversation))


def calls_of_turns(conversation: Conversation) -> Iterator[ModelCall]:
    return chain.from_iterable(turn.calls for turn in turns_of(conversation))


def turns_of(conversation: Conversation) -> Iterator[Turn]:
    """Yields the turns that stand, then those that were taken back."""
    return chain(conversation.turns, (turn for rewind in conversation.rewinds for turn in rewind.turns))
