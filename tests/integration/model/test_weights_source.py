"""A model comes from an object store before it is served: whole, as it is there, and not twice."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import base_digest
from soliloquy_services.model.weights_source import fetch_model

PIECE = 64 * 1024
WEIGHTS = 10 * PIECE
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b"{}",
    "model.safetensors": bytes(number % 251 for number in range(WEIGHTS)),
}


class Unsteady(Storage):
    """Counts the bytes that are read of files, and loses its connection after so many."""

    def __init__(self, location: str, most: int = 2**40) -> None:
        super().__init__(location)
        self.most, self.count = most, 0

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        with super().opened(name) as file:
            yield _Unsteady(file, self)  # type: ignore[misc]


class _Unsteady:
    def __init__(self, file: BinaryIO, store: Unsteady) -> None:
        self._file, self._store = file, store

    def seek(self, place: int) -> int:
        return self._file.seek(place)

    def read(self, _: int) -> bytes:
        if self._store.count >= self._store.most:
            raise ConnectionResetError("connection reset by peer")
        piece = self._file.read(PIECE)
        self._store.count += len(piece)
        return piece


@pytest.fixture
def source(bucket: str) -> str:
    where = f"{bucket}/models/tiny"
    for name, content in FILES.items():
        Storage(where).write(name, content)
    return where


def fetch(store: Storage, folder: Path, **options: Any) -> int:
    return fetch_model(store, folder, tell=lambda _: None, **options)


def test_a_model_is_fetched_once_and_without_what_no_engine_reads(source: str, tmp_path: Path) -> None:
    for name in ("pytorch_model.bin", "original/consolidated.00.pth", "README.md"):
        Storage(source).write(name, b"x" * 1000)
    assert fetch(Storage(source), tmp_path / "tiny") == sum(map(len, FILES.values()))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("tiny/[!.]*")} == FILES
    assert fetch(Storage(source), tmp_path / "tiny") == 0


def test_an_interrupted_fetch_goes_on_where_it_ended(source: str, tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="connection reset by peer"):
        fetch(Unsteady(source, most=5 * PIECE), tmp_path)
    assert not (tmp_path / "model.safetensors").exists()
    rest = Unsteady(source)
    assert fetch(rest, tmp_path) == rest.count < WEIGHTS
    assert (tmp_path / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_a_file_that_was_replaced_meanwhile_is_fetched_from_its_beginning(source: str, tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable):
        fetch(Unsteady(source, most=5 * PIECE), tmp_path)
    Storage(source).write("model.safetensors", other := bytes(WEIGHTS))
    fetch(Storage(source), tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == other
    # And a whole one.
    Storage(source).write("config.json", b'{"a": 1}')
    assert fetch(Storage(source), tmp_path) == len(b'{"a": 1}')


def test_a_replacement_of_the_same_size_is_fetched_after_an_interruption(source: str, tmp_path: Path) -> None:
    fetch(Storage(source), tmp_path)
    Storage(source).write("model.safetensors", other := bytes(WEIGHTS))
    with pytest.raises(StorageUnavailable):
        fetch(Unsteady(source, most=0), tmp_path)
    assert fetch(Storage(source), tmp_path) == WEIGHTS
    assert (tmp_path / "model.safetensors").read_bytes() == other


def test_a_model_that_changes_under_the_fetch_is_refused(source: str, tmp_path: Path) -> None:
    class Changing(Unsteady):
        @contextmanager
        def opened(self, name: str) -> Iterator[BinaryIO]:
            with super().opened(name) as file:
                yield file
            Storage(source).write("config.json", b'{"changed": true}')

    with pytest.raises(Failure, match=r"config.json was replaced while it was fetched"):
        fetch(Changing(source), tmp_path)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_without_a_whole_model_is_refused(source: str, tmp_path: Path, missing: str) -> None:
    Storage(source).remove(missing)
    with pytest.raises(Failure, match=f"is not a model: missing .*{missing.removeprefix('model')}"):
        fetch(Storage(source), tmp_path)


def test_a_missing_shard_is_named(source: str, tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    Storage(source).write("model.safetensors.index.json", json.dumps(index).encode())
    with pytest.raises(Failure, match=r"missing model-00002-of-00002.safetensors \(1 of 2 files of weights\)"):
        fetch(Storage(source), tmp_path)


def test_weights_of_another_model_are_not_left_beside_it(source: str, tmp_path: Path) -> None:
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"")
    with pytest.raises(Failure, match=r"model-00001-of-00002\.safetensors, which s3://.* lacks: choose a folder"):
        fetch(Storage(source), tmp_path)


def test_an_empty_location_is_named(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="nothing holds no model"):
        fetch(Storage(f"{bucket}/nothing"), tmp_path)


def test_the_command_compares_the_digest_that_services_and_adapters_name(source: str, tmp_path: Path) -> None:
    def told(digest: str) -> tuple[int, str]:
        asked = ["model", "fetch", source, str(tmp_path / "tiny"), "--digest", digest]
        result = CliRunner().invoke(commands, asked)
        return result.exit_code, result.output or str(result.exception)

    status, wrong = told("0" * 64)
    assert (status != 0, "not 000000" in wrong) == (True, True)
    assert told(base_digest(tmp_path / "tiny")) == (0, f"{tmp_path / 'tiny'}: complete, 0 bytes fetched\n")
