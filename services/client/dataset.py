"""A dataset's conversations, as records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected

from services.dataset.frames import payloads
from services.dataset.manifest import ACCEPTED, REJECTED, read_manifest, shards_of
from services.dataset.place import Place
from services.recipes.recipe import find


class NoDataset(Exception):
    """The folder holds no dataset; the message says what it holds instead."""


class Dataset:
    """The records of a dataset's folder: of a finished run in its order, of an unfinished one as they came in."""

    def __init__(self, folder: Path, *, rejected: bool = False) -> None:
        self._place = Place(folder)
        self._rejected = rejected
        self._manifest = read_manifest(self._place)
        self._journals = sorted((folder / ".run").glob("journal*"))
        if self._manifest is None and not self._journals:
            raise NoDataset(f"{folder} holds no conversations: grow some with soliloquy generate --out {folder}")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for serialised in self._messages():
            conversation = Conversation.FromString(serialised)
            yield find(conversation.run.recipe).record(conversation)

    def find(self, conversation_id: str) -> dict[str, Any]:
        """The conversation of an id, or of the only id that begins like that."""
        found = [record for record in self if record["id"].startswith(conversation_id)]
        if len(found) != 1:
            raise NoDataset(f"{len(found)} conversations have an id that begins with {conversation_id!r}")
        return found[0]

    def _messages(self) -> Iterator[bytes]:
        import pyarrow.parquet as pq

        from services.dataset.rows import messages

        for shard in shards_of(self._manifest or {"shards": []}, REJECTED if self._rejected else ACCEPTED):
            with self._place.opened(shard.name) as file:
                for batch in pq.ParquetFile(file).iter_batches():
                    yield from messages(batch)
        # Those before it are in shards, if still to be removed.
        first = (self._manifest or {"arrival": {}})["arrival"].get("segments", 0)
        for path in (path for path in self._journals if int(path.name.partition("-")[2] or first) >= first):
            kept = (Collected.FromString(payload) for payload in payloads(path))
            yield from (one.conversation for one in kept if bool(one.reasons) == self._rejected)
