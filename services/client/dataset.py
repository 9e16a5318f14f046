"""A dataset's conversations, as records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class NoDataset(Exception):
    """The folder holds no dataset; the message says what it holds instead."""


class Dataset:
    """The records of a dataset's folder: of a finished run in its order, of an unfinished one as they came in."""

    def __init__(self, folder: Path) -> None:
        self._finished = folder / "conversations.jsonl"
        self._journal = folder / ".run" / "journal.jsonl"
        if not self._finished.exists() and not self._journal.exists():
            raise NoDataset(f"{folder} holds no conversations: grow some with soliloquy generate --out {folder}")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._finished.exists():
            yield from _rows(self._finished)
            return
        yield from (row["record"] for row in _rows(self._journal) if not row["faults"])

    def find(self, conversation_id: str) -> dict[str, Any]:
        """The conversation of an id, or of the only id that begins like that."""
        found = [record for record in self if record["id"].startswith(conversation_id)]
        if len(found) != 1:
            raise NoDataset(f"{len(found)} conversations have an id that begins with {conversation_id!r}")
        return found[0]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Whole lines only: a run that is still writing may have half a line at the end."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)
