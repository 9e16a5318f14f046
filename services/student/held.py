"""Knows which conversations wait at their next turn, as the gateway tells."""

import asyncio
from weakref import WeakValueDictionary

from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import RunHeld


class HeldConversations:
    def __init__(self) -> None:
        # By run, the first problem whose conversation waits.
        self._first: dict[str, int] = {}
        # Resolved when the conversation may go on; by run and problem.
        self._waits: WeakValueDictionary[tuple[str, int], asyncio.Future[None]] = WeakValueDictionary()

    def __contains__(self, conversation: Conversation) -> bool:
        return self._holds(run_key(conversation.run), conversation.ordinal)

    def release(self, conversation: Conversation) -> asyncio.Future[None]:
        """Returns a future that is done when the conversation may go on."""
        key = run_key(conversation.run), conversation.ordinal
        waiting = self._waits.get(key)
        if waiting is None or waiting.done():
            waiting = self._waits[key] = asyncio.get_running_loop().create_future()
        return waiting

    def take(self, held: RunHeld) -> None:
        """Takes the latest word on a run."""
        run = run_key(held.run)
        if held.HasField("first"):
            self._first[run] = held.first
        else:
            self._first.pop(run, None)
        for (of_run, ordinal), waiting in list(self._waits.items()):
            if of_run == run and not (self._holds(run, ordinal) or waiting.done()):
                waiting.set_result(None)

    def _holds(self, run: str, ordinal: int) -> bool:
        first = self._first.get(run)
        return first is not None and ordinal >= first
