"""What a collector that serves any number of runs stores: for each growing of a run a folder with its journal."""

import fcntl
import os
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Self

from soliloquy.v1.conversation_pb2 import Conversation

from services.collector.journal import Journal
from services.runtime.events import growing_of

JOURNAL = "journal.jsonl"
# Journals kept open; one that was not used for the longest time is closed for another.
OPEN_JOURNALS = 64


class Journals:
    """Opened by one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: OrderedDict[str, Journal] = OrderedDict()
        self._writing: Counter[str] = Counter()

    def __enter__(self) -> Self:
        """Raises OSError for a folder that cannot be written, or that another collector writes."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self

    def __exit__(self, *_: object) -> None:
        for journal in self._open.values():
            journal.close()
        os.close(self._lock)

    async def add(self, conversation: Conversation, faults: list[str]) -> None:
        growing = growing_of(conversation.run)
        self._writing[growing] += 1
        try:
            await self._journal(growing).add(conversation, faults)
        finally:
            self._writing[growing] -= 1

    def _journal(self, growing: str) -> Journal:
        if journal := self._open.get(growing):
            self._open.move_to_end(growing)
            return journal
        folder = self._folder / growing
        folder.mkdir(exist_ok=True)
        journal = self._open[growing] = Journal(folder / JOURNAL)
        idle = [known for known in self._open if not self._writing[known]]
        for longest in idle[: max(0, len(self._open) - OPEN_JOURNALS)]:
            self._open.pop(longest).close()
        return journal
