"""A dataset's manifest, the truth of what is there: a shard that it does not name does not count."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from soliloquy.dataset.storage import Storage
from soliloquy.v1 import conversation_pb2, dataset_pb2, runs_pb2, sandbox_pb2

MANIFEST = "manifest.json"
FORMAT = 2
_PARTS = ("format", "run", "counts", "cost", "arrival", "shards")
_CONTRACT = (runs_pb2, sandbox_pb2, conversation_pb2, dataset_pb2)
# What a dataset of the first format was.
_FIRST_FORMAT = "conversations.jsonl"


class UnreadableManifest(Exception):
    """It is damaged, or of another version than this one reads; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One file of rows, as it was when it was written."""

    name: str
    rows: int
    bytes: int
    sha256: str

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]


def read_manifest(place: Storage) -> dict[str, Any] | None:
    """None where there is none."""
    text = place.read(MANIFEST)
    if text is None:
        return None
    try:
        manifest = json.loads(text)
        form = manifest["format"]
        if form == FORMAT:
            whole = {name: manifest[name] for name in _PARTS}
            shards_of(whole)
            return whole
    except (ValueError, TypeError, KeyError) as error:
        raise UnreadableManifest(f"{place}/{MANIFEST} is not readable ({error!r})") from error
    if form == 1:
        raise UnreadableManifest(f"{place} holds a dataset of format 1 ({_FIRST_FORMAT}), of an earlier version")
    raise UnreadableManifest(f"{place}/{MANIFEST} is of format {form!r}; this version reads {FORMAT}: update it")


def write_manifest(place: Storage, manifest: dict[str, Any], shards: Iterable[Shard]) -> None:
    """From then on its shards count, and no others."""
    whole = {"format": FORMAT, **manifest, "shards": [asdict(shard) for shard in shards]}
    place.write(MANIFEST, json.dumps(whole, ensure_ascii=False, indent=2).encode() + b"\n")


def shards_of(manifest: dict[str, Any], *kinds: str) -> list[Shard]:
    """In the order of their rows."""
    shards = [Shard(**shard) for shard in manifest["shards"]]
    return [shard for shard in shards if shard.kind in kinds]


def versions() -> dict[str, Any]:
    """Of the code and of the contract that a dataset is written with."""
    return {
        "soliloquy": version("soliloquy"),
        "protos_sha256": {
            module.DESCRIPTOR.name.rpartition("/")[2]: sha256(module.DESCRIPTOR.serialized_pb).hexdigest()
            for module in _CONTRACT
        },
    }
