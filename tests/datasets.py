"""Writes datasets in a folder, as a run leaves them, from given conversations."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.dataset.manifest import MANIFEST, Shard, write_manifest
from soliloquy.dataset.rows import REASONS, TIMINGS, rows
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.packages import DEFAULT
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.sandbox_pb2 import Lane

Rejected = tuple[Conversation, Sequence[str]]

RUN: dict[str, Any] = {
    "soliloquy": "0.1.0",
    "recipe": "soliloquy",
    "model": "scripted",
    "conversations": 2,
    "seed": 5,
    "noise": "real",
    "max_turns": 20,
    "max_attempts": 10,
    "enrich": False,
    "prompts_sha256": {"deciding.txt": "d" * 64},
    "protos_sha256": {"conversation.proto": "c" * 64},
}


def statistics_of(conversations: Iterable[Conversation]) -> Statistics:
    statistics = Statistics()
    statistics.add(accepted_rows(conversations))
    return statistics


def accepted_rows(conversations: Iterable[Conversation]) -> pa.RecordBatch:
    """Returns the rows of conversations that have the same recipe."""
    every = list(conversations)
    return rows((one.SerializeToString() for one in every), every[0].run.recipe if every else DEFAULT)


def rejected_rows(rejected: Sequence[Rejected]) -> pa.RecordBatch:
    reasons = pa.array([list(reasons) for _, reasons in rejected], REASONS.type)
    return accepted_rows(conversation for conversation, _ in rejected).append_column(REASONS, reasons)


def timing_rows(conversations: Iterable[Conversation], *, begun: float, apart: float) -> pa.RecordBatch:
    """Spaces conversations by so many seconds; each program took a millisecond, each answer ten."""
    return pa.RecordBatch.from_pylist(
        [
            {
                "id": conversation.id,
                "collected_at": begun + place * apart,
                "executions": [
                    {
                        "turn": turn.number,
                        "attempt": number,
                        "seconds": 0.001,
                        "waited_seconds": 0.002,
                        "runsc_version": "",
                        "lane": Lane.Name(attempt.execution.lane),
                    }
                    for turn in conversation.turns
                    for number, attempt in enumerate(turn.calculation.attempts, start=1)
                ],
                "calls": [
                    {"turn": turn.number, "role": call.role, "seconds": 0.01}
                    for turn in conversation.turns
                    for call in turn.calls
                ],
            }
            for place, conversation in enumerate(conversations)
        ],
        schema=TIMINGS,
    )


def written(folder: Path, shards: Iterable[tuple[str, pa.RecordBatch]], **run: Any) -> Path:
    """Writes each shard by its name, and a manifest that lists them."""
    listed = []
    for name, batch in shards:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(batch), path, row_group_size=1_000)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        listed.append(Shard(name=name, rows=batch.num_rows, bytes=path.stat().st_size, sha256=digest))
    write_manifest(Storage(folder), {"run": RUN | run, "counts": {}, "cost": {}, "arrival": {}}, listed)
    return folder


def rewritten(folder: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Writes another shard under the same name, and a manifest that vouches for its bytes."""
    pq.write_table(change(pq.read_table(folder / name)), folder / name, compression="zstd")
    vouch(folder, name)


def vouch(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()

    def change(manifest: dict[str, Any]) -> None:
        [shard] = [shard for shard in manifest["shards"] if shard["name"] == name]
        shard |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}

    changed(folder, change)


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((folder / MANIFEST).read_bytes())
    change(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest), "utf-8")
