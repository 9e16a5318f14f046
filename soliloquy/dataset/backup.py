"""Copies the datasets of a store to another, also while their collector writes them."""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from soliloquy.dataset.layout import KINDS, PROMPTS, TABLES
from soliloquy.dataset.manifest import MANIFEST, Shard, ShardList, lists_of, read_manifest, shards_of
from soliloquy.dataset.record import RECORD
from soliloquy.dataset.shards import remove_leftovers
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.failure import Failure

_CHUNK = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Copied:
    dataset: str
    files: int
    bytes: int


def back_up(source: str, target: str) -> Iterator[Copied]:
    """Copies each dataset's new files and then its manifest, so that the copy is always one that was there."""
    if TABLES in (source[: len(TABLES)], target[: len(TABLES)]):
        raise Failure(f"{source}: tables are kept by the backups of their catalog and their warehouse")
    names = Storage(source).folders()
    if not names:
        raise Failure(f"{source} holds no datasets: use the collector's --data or --store")
    for name in names:
        yield _copied(name, Storage(f"{source}/{name}"), Storage(f"{target}/{name}"))


def _copied(name: str, source: Storage, target: Storage) -> Copied:
    # The record first: by the later state of a run, more conversations would be wanted than the copy holds.
    record, content = source.read(RECORD), source.read(MANIFEST)
    files = _files(source)
    kept = {one.name: one.sha256 for one in _files(target)}
    copied = [one for one in files if kept.get(one.name) != one.sha256]
    for one in copied:
        _copy(one, source, target)
    for file, text in ((MANIFEST, content), (RECORD, record)):
        if text is not None:
            target.write(file, text)
    if content is not None:
        remove_leftovers(target, [one for one in files if isinstance(one, Shard)])
    return Copied(dataset=name, files=len(copied), bytes=sum(one.bytes for one in copied))


def _files(place: Storage) -> list[Shard | ShardList]:
    manifest = read_manifest(place) or {"shards": []}
    return [*shards_of(manifest, *KINDS, PROMPTS), *lists_of(manifest)]


def _copy(one: Shard | ShardList, source: Storage, target: Storage) -> None:
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        with source.opened(one.name) as file, copy.open("wb") as written:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                written.write(chunk)
        if digest.hexdigest() != one.sha256:
            raise Failure(f"{source}/{one.name} is not what the manifest says: run soliloquy verify {source}")
        target.put(one.name, copy)
