"""Reads and writes the manifest, which decides what a dataset holds: a shard that it does not name does not count."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from soliloquy.dataset.storage import Storage
from soliloquy.recipes.labels import labels_of
from soliloquy.runtime.failure import Failure
from soliloquy.v1 import conversation_pb2, dataset_pb2, runs_pb2, sandbox_pb2

MANIFEST = "manifest.json"
FORMAT = 2
_PARTS = ("format", "run", "counts", "cost", "arrival", "shards")
_CONTRACT = (runs_pb2, sandbox_pb2, conversation_pb2, dataset_pb2)


class UnreadableManifest(Failure):
    """The manifest is damaged, or of another format; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One file of rows, or of a prompt without any, as it was written."""

    name: str
    rows: int
    bytes: int
    sha256: str

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]


def read_manifest(storage: Storage) -> dict[str, Any] | None:
    """Returns None if there is no manifest."""
    if storage.folder and storage.folder.is_file():
        raise UnreadableManifest(f"{storage} is a file: use the folder of a dataset")
    text = storage.read(MANIFEST)
    if text is None:
        return None
    try:
        manifest = json.loads(text)
        version_read = manifest["format"]
        if version_read == FORMAT:
            parts = {name: manifest[name] for name in _PARTS}
            shards_of(parts)
            return parts
    except (ValueError, TypeError, KeyError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise UnreadableManifest(f"{storage}/{MANIFEST} cannot be read as the manifest of a dataset ({why})") from error
    if version_read == 1:
        raise UnreadableManifest(
            f"{storage} holds a dataset of format 1 (conversations.jsonl), which this version cannot read"
        )
    raise UnreadableManifest(
        f"{storage}/{MANIFEST} has format {version_read!r}; this version reads format {FORMAT}: update soliloquy"
    )


def write_manifest(storage: Storage, manifest: dict[str, Any], shards: Iterable[Shard]) -> None:
    """Writes the manifest last: from then on exactly these shards count."""
    content = {"format": FORMAT, **manifest, "shards": [asdict(shard) for shard in shards]}
    storage.write(MANIFEST, json.dumps(content, ensure_ascii=False, indent=2).encode() + b"\n")


def shards_of(manifest: dict[str, Any], *kinds: str) -> list[Shard]:
    """Returns the shards of these kinds, in the order of their rows."""
    shards = [Shard(**shard) for shard in manifest["shards"]]
    return [shard for shard in shards if shard.kind in kinds]


def versions(recipe: str = "") -> dict[str, Any]:
    """Returns the version of the code, and the hashes of the contract and the labels that a dataset is written with."""
    labels = labels_of(recipe).files() if recipe else ()
    return {
        "soliloquy": version("soliloquy"),
        "protos_sha256": {
            file.name.rpartition("/")[2]: sha256(file.serialized_pb).hexdigest()
            for file in (*(module.DESCRIPTOR for module in _CONTRACT), *labels)
        },
    }
