"""How many conversations of a run are under way: none starts before there is room for it."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationStarted


@dataclass
class _Run:
    # The problems of the run, by ordinal, that have a conversation under way.
    under_way: set[int] = field(default_factory=set)
    room: asyncio.Condition = field(default_factory=asyncio.Condition)


class Admission:
    """Keeps started - finished <= in_flight for each run. A problem's further attempts keep its place."""

    def __init__(self) -> None:
        self._runs: defaultdict[str, _Run] = defaultdict(_Run)

    def recall_started(self, start: ConversationStarted) -> None:
        """Takes up the count where the log says it stood: every start first, every judgement after."""
        self._runs[start.conversation.run.id].under_way.add(start.conversation.ordinal)

    def recall_collected(self, judgement: ConversationCollected) -> None:
        if is_final(judgement):
            self._runs[judgement.conversation.run.id].under_way.discard(judgement.conversation.ordinal)

    async def enter(self, conversation: Conversation) -> bool:
        """Waits until there is room; False for a problem that has a conversation under way already."""
        run = self._runs[conversation.run.id]
        if conversation.ordinal in run.under_way:
            return False
        async with run.room:
            await run.room.wait_for(lambda: len(run.under_way) < conversation.run.in_flight)
            run.under_way.add(conversation.ordinal)
        return True

    async def leave(self, conversation: Conversation) -> None:
        run = self._runs[conversation.run.id]
        async with run.room:
            run.under_way.discard(conversation.ordinal)
            run.room.notify()


def is_final(judgement: ConversationCollected) -> bool:
    """Whether the problem is done with: its conversation was accepted, or every attempt was rejected."""
    conversation = judgement.conversation
    return judgement.accepted or conversation.attempt + 1 >= conversation.run.max_attempts
