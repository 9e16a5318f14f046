"""Conversations to collect, and what became of them."""

import pyarrow.parquet as pq

from soliloquy.dataset.layout import ACCEPTED
from soliloquy.dataset.manifest import read_manifest, shards_of
from soliloquy.dataset.rows import messages
from soliloquy.dataset.storage import Storage
from soliloquy.v1.conversation_pb2 import Conversation
from tests.unit.recipes.conversations import sound_conversation


def numbered(ordinal: int, attempt: int = 0) -> Conversation:
    made = sound_conversation()
    made.id, made.ordinal, made.attempt = f"id-{ordinal}-{attempt}", ordinal, attempt
    return made


def conversations_in(place: Storage, kind: str = ACCEPTED) -> list[Conversation]:
    manifest = read_manifest(place)
    found: list[Conversation] = []
    for shard in shards_of(manifest, kind) if manifest else ():
        with place.opened(shard.name) as file:
            for batch in pq.ParquetFile(file).iter_batches():
                found += map(Conversation.FromString, messages(batch))
    return found


def ordinals_in(place: Storage, kind: str = ACCEPTED) -> list[int]:
    return [conversation.ordinal for conversation in conversations_in(place, kind)]
