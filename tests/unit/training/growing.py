"""Generated conversations, and datasets of them."""

import asyncio
import hashlib
import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.dataset.manifest import Shard, write_manifest
from soliloquy.dataset.rows import rows
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.recipe import find
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from tests.unit.scripted.dialling import dialled
from tests.unit.scripted.growing import grown

SEED = 5


@cache
def conversations(count: int) -> Sequence[Conversation]:
    """Generates conversations that a run accepts."""

    async def grow() -> list[Conversation]:
        found: list[Conversation] = []
        for ordinal in itertools.count():
            one = await grown(ordinal, seed=SEED)
            found += [] if find("soliloquy").faults(one) else [one]
            if len(found) == count:
                break
        return found

    return asyncio.run(grow())


@cache
def dialogues() -> Sequence[Conversation]:
    """Generates a few conversations of the recipe mathdial."""

    async def grow() -> list[Conversation]:
        return [one async for one in dialled(6, problems=3, seed=SEED) if one.ending != Ending.ENDING_UNFIT]

    return asyncio.run(grow())


def dataset(folder: Path, accepted: Sequence[Conversation], *, rejected: int = 0) -> Path:
    """Writes a dataset as a run leaves it; of rejected conversations it only has the number."""
    (folder / "accepted").mkdir(parents=True)
    shard = folder / "accepted" / "00000.parquet"
    batch = rows(
        (conversation.SerializeToString() for conversation in accepted), accepted[0].run.recipe if accepted else ""
    )
    pq.write_table(pa.Table.from_batches([batch]), shard)
    content = shard.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    shards = [Shard(name="accepted/00000.parquet", rows=len(accepted), bytes=len(content), sha256=digest)]
    if rejected:
        shards.append(Shard(name="rejected/00000.parquet", rows=rejected, bytes=0, sha256=""))
    write_manifest(Storage(folder), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, shards)
    return folder
