"""Collected conversations in the order of their arrival: an append-only file that is the truth of a run's progress."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from soliloquy.v1.conversation_pb2 import Conversation

from services.collector.tally import Tally
from services.recipes.recipe import find


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Where a conversation stands in the journal, and what was found of it."""

    ordinal: int
    attempt: int
    accepted: bool
    start: int
    length: int


class Journal:
    """One line a conversation; the first line of an id wins. A line counts once it is on the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}
        self._rejected_at: Counter[int] = Counter()
        self.tally = Tally()
        # Unbuffered: after a failed write nothing is left behind that a later one would append.
        self._file = path.open("a+b", buffering=0)
        self._recall()
        self._flushing = asyncio.Lock()
        self._unflushed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def rejected_at(self, attempt: int) -> int:
        """How many problems had this attempt rejected."""
        return self._rejected_at[attempt]

    def settled_ordinals(self, max_attempts: int) -> set[int]:
        """Problems that have an accepted conversation or no attempt left."""
        return {e.ordinal for e in self._entries.values() if e.accepted or e.attempt + 1 >= max_attempts}

    def entries(self) -> list[Entry]:
        """In the order of the run: by problem, then by attempt."""
        return sorted(self._entries.values(), key=lambda entry: (entry.ordinal, entry.attempt))

    def line(self, entry: Entry) -> bytes:
        return os.pread(self._file.fileno(), entry.length, entry.start)

    async def add(self, conversation: Conversation, faults: list[str]) -> None:
        if conversation.id in self._entries:
            return
        record = find(conversation.run.recipe).record(conversation)
        line = json.dumps({"faults": faults, "record": record}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        start = self._file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError:
            self._file.truncate(start)
            raise
        await self._on_disk()
        self._enter(record, faults, start=start, length=len(line))

    async def _on_disk(self) -> None:
        """Waits for the disk. Whoever arrives during a flush shares the next one."""
        self._unflushed += 1
        async with self._flushing:
            if self._unflushed:
                self._unflushed = 0
                await asyncio.to_thread(os.fsync, self._file.fileno())

    def _enter(self, record: dict[str, Any], faults: list[str], *, start: int, length: int) -> None:
        self._entries[record["id"]] = Entry(
            ordinal=record["ordinal"], attempt=record["attempt"], accepted=not faults, start=start, length=length
        )
        if faults:
            self._rejected_at[record["attempt"]] += 1
        self.tally.add(record, accepted=not faults)

    def _recall(self) -> None:
        """Reads the lines of an earlier start; a last line that was cut off by a crash is removed."""
        end = 0
        for start, line in _lines(self._path):
            if not line.endswith(b"\n"):
                break
            end = start + len(line)
            row = json.loads(line)
            if row["record"]["id"] not in self._entries:
                self._enter(row["record"], row["faults"], start=start, length=len(line))
        self._file.truncate(end)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    start = 0
    with path.open("rb") as file:
        for line in file:
            yield start, line
            start += len(line)
