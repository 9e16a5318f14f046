"""Fetches a model from an object store into a folder, and goes on where an earlier fetch was interrupted."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from soliloquy.dataset.storage import Storage, StoredFile
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file, read_json
from soliloquy.runtime.weights import base_digest, flaw_of_base

# Engines read these files; repositories of models also hold the same weights in other forms.
_READ = {".json", ".jinja", ".txt", ".model", ".safetensors"}
_INDEX = "model.safetensors.index.json"
# Says which version of each file is here, as a whole or in part.
_RECORD = ".fetched.json"
_PIECE_BYTES = 8 * 1024**2

Tell = Callable[[str], None]


def fetch_model(source: Storage, folder: Path, *, digest: str = "", tell: Tell) -> int:
    """Returns the bytes that were fetched; raises Failure unless the folder then holds the whole model."""
    files = _files(source)
    folder.mkdir(parents=True, exist_ok=True)
    if foreign := sorted({path.name for path in folder.glob("*.safetensors")} - {file.name for file in files}):
        raise Failure(f"{folder} has {foreign[0]}, which {source} lacks: choose a folder of its own for each model")
    record, fetched = _Record(folder), 0
    for number, file in enumerate(files, start=1):
        if record.is_complete(file):
            continue
        tell(f"{file.name} ({number} of {len(files)}), {file.size / 1e9:.1f} GB")
        fetched += _fetch(source, file, record)
    if changed := [before.name for before, after in zip(files, _files(source), strict=False) if before != after]:
        raise Failure(f"{source}/{changed[0]} was replaced while it was fetched: fetch it again")
    if flaw := flaw_of_base(folder) or _missing_shard(folder):
        raise Failure(f"{source} is not a model: {flaw}")
    if digest and (found := base_digest(folder)) != digest:
        raise Failure(f"the model in {source} is {found}, not {digest}: name the folder with that digest")
    return fetched


class _Record:
    """Which version of each file the folder holds; an object that was replaced is fetched from its beginning."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self._versions: dict[str, Any] = dict(read_json(folder / _RECORD))
        except (OSError, ValueError, TypeError):
            self._versions = {}

    def is_complete(self, file: StoredFile) -> bool:
        path = self.folder / file.name
        return self._knows(file) and path.is_file() and path.stat().st_size == file.size

    def partial(self, file: StoredFile) -> Path:
        """Returns the file to append to, empty unless it was begun from the same version."""
        path = self.folder / f".{file.name}.unfinished"
        if not self._knows(file):
            # An earlier version of the same size would pass for the one that is recorded.
            for earlier in (path, self.folder / file.name):
                earlier.unlink(missing_ok=True)
            self._versions[file.name] = file.version
            with atomic_file(self.folder / _RECORD) as target:
                target.write(json.dumps(self._versions).encode())
        return path

    def _knows(self, file: StoredFile) -> bool:
        return bool(self._versions.get(file.name) == file.version)


def _files(source: Storage) -> Sequence[StoredFile]:
    files = [file for file in source.files() if Path(file.name).suffix in _READ]
    if not files:
        raise Failure(f"{source} holds no model: name the folder with config.json and *.safetensors")
    return files


def _fetch(source: Storage, file: StoredFile, record: _Record) -> int:
    partial = record.partial(file)
    with partial.open("ab") as target, source.opened(file.name) as opened:
        begun = target.tell()
        if begun > file.size:
            target.truncate(begun := 0)
        opened.seek(begun)
        while piece := source.attempt(lambda: opened.read(_PIECE_BYTES)):
            target.write(piece)
        os.fsync(target.fileno())
    if (size := partial.stat().st_size) != file.size:
        raise Failure(f"{source}/{file.name} ended after {size:,} of {file.size:,} bytes: fetch it again")
    partial.replace(record.folder / file.name)
    return size - begun


def _missing_shard(folder: Path) -> str:
    if not (folder / _INDEX).is_file():
        return ""
    try:
        shards = set(dict(read_json(folder / _INDEX))["weight_map"].values())
    except (KeyError, AttributeError, TypeError) as error:
        return f"{_INDEX} does not say where its weights are ({error!r})"
    missing = sorted(shard for shard in shards if not (folder / shard).is_file())
    return f"missing {missing[0]} ({len(missing)} of {len(shards)} files of weights)" if missing else ""
