"""A folder and an object store keep the same promises."""

import json
from pathlib import Path

import pytest
import s3fs

from soliloquy.dataset.lock import LOCK, Locked, write_lock
from soliloquy.dataset.storage import Storage, StorageUnavailable

# One compiles the server of its store, the other installs it.
OTHERS = [pytest.param(name, marks=pytest.mark.thorough) for name in ("google_bucket", "azure_bucket")]
BUCKETS = ("bucket", *OTHERS)


@pytest.fixture(params=["folder", *BUCKETS])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "folder":
        (tmp_path / "dataset").mkdir()
        return Storage(tmp_path / "dataset")
    return Storage(f"{request.getfixturevalue(request.param)}/dataset")


@pytest.fixture(params=BUCKETS)
def store(request: pytest.FixtureRequest) -> Storage:
    return Storage(f"{request.getfixturevalue(request.param)}/dataset")


def test_what_is_written_is_read_and_written_again(place: Storage) -> None:
    assert place.read("manifest.json") is None
    for content in (b"one", b"another"):
        place.write("manifest.json", content)
        assert place.read("manifest.json") == content


def test_a_file_with_other_content_has_another_version(place: Storage) -> None:
    versions = set()
    for content in (b"one", b"two"):
        place.write("manifest.json", content)
        [file] = place.files()
        assert (file.name, file.size) == ("manifest.json", 3)
        versions.add(file.version)
    assert len(versions) == 2


def test_what_others_write_into_a_listed_folder_is_seen(store: Storage) -> None:
    store.write("accepted/0", b"")
    assert store.names("accepted") == ["accepted/0"]
    assert Storage(store.url).create("accepted/1", b"more")
    assert store.read("accepted/1") == b"more"
    assert not store.create("accepted/1", b"other")


def test_a_file_is_put_whole_and_no_longer_here(place: Storage, tmp_path: Path) -> None:
    shard = tmp_path / "shard"
    for content in (b"x" * 100, b"y" * 200_000):
        shard.write_bytes(content)
        place.put("accepted/00000.parquet", shard)
        assert not shard.exists()
        with place.opened("accepted/00000.parquet") as file:
            assert file.read() == content
    assert place.names("accepted") == ["accepted/00000.parquet"]
    place.remove("accepted/00000.parquet")
    assert place.names("accepted") == place.names("rejected") == []


@pytest.fixture
def working(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    return tmp_path / "one"


def test_one_working_folder_of_all_writes_to_an_object_store(store: Storage, working: Path, tmp_path: Path) -> None:
    with write_lock(store, working):
        with (
            pytest.raises(Locked, match=f"if it no longer runs, remove {store}/{LOCK}"),
            write_lock(store, tmp_path / "two"),
        ):
            pass
        with pytest.raises(Locked, match="another process is writing"), write_lock(store, working):
            pass
    with write_lock(store, tmp_path / "two"):
        pass


def test_whoever_was_killed_comes_back_to_its_lock(store: Storage, working: Path) -> None:
    with write_lock(store, working):
        left = store.read(LOCK)
    assert left is not None
    assert store.create(LOCK, left)
    with write_lock(store, working):
        assert json.loads(store.read(LOCK) or b"")["owner"] == json.loads(left)["owner"]


def test_a_store_that_is_gone_is_named(bucket: str, working: Path) -> None:
    place = Storage(f"{bucket}/dataset")
    s3fs.S3FileSystem().rm(bucket, recursive=True)
    with pytest.raises(StorageUnavailable, match=f"{bucket}/dataset failed"):
        place.write("manifest.json", b"")
    with pytest.raises(StorageUnavailable, match="bucket does not exist"), write_lock(place, working):
        pass


def test_a_url_of_no_known_kind_is_named() -> None:
    with pytest.raises(StorageUnavailable, match="nowhere://x is not a folder or URL of a known kind"):
        Storage("nowhere://x")
