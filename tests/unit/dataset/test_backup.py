"""A copy of datasets is one that was there, whatever the collector does meanwhile."""

from pathlib import Path

import pytest

from soliloquy.dataset.backup import back_up
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.record import RECORD, write_record
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.runtime.failure import Failure
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy_services.collector.live import LiveDataset
from tests.unit.collector.collecting import numbered, ordinals_in

RUN = numbered(0).run


async def grown(store: Path, *ordinals: int) -> None:
    place = store / RUN.id
    dataset = LiveDataset(Storage(place), place / ".run", RUN, ShardLimits())
    for ordinal in ordinals:
        await dataset.add(numbered(ordinal), [], None)
    dataset.cut_after(0.0)
    await dataset.roll()
    dataset.close()
    write_record(Storage(place), RunChanged(run=RUN, changed_at=1.0))


async def test_a_repeat_copies_what_is_new_and_a_copy_can_be_brought_back(tmp_path: Path) -> None:
    store, kept, back = tmp_path / "store", tmp_path / "kept", tmp_path / "back"
    await grown(store, 0, 1)
    [first] = back_up(str(store), str(kept))
    assert first.files == 2
    await grown(store, 2)
    [second] = back_up(str(store), str(kept))
    assert second.files == 2
    [third] = back_up(str(store), str(kept))
    assert third.files == 0
    list(back_up(str(kept), str(back)))
    place = Storage(back / RUN.id)
    assert (list(findings(place)), ordinals_in(place)) == ([], [0, 1, 2])
    assert (back / RUN.id / RECORD).read_bytes() == (store / RUN.id / RECORD).read_bytes()


async def test_a_copy_that_is_broken_off_is_still_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, kept = tmp_path / "store", tmp_path / "kept"
    await grown(store, 0)
    list(back_up(str(store), str(kept)))
    await grown(store, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Storage, "write", full)
        with pytest.raises(OSError, match="No space left"):
            list(back_up(str(store), str(kept)))
    assert ordinals_in(Storage(kept / RUN.id)) == [0]
    list(back_up(str(store), str(kept)))
    assert (list(findings(Storage(kept / RUN.id))), ordinals_in(Storage(kept / RUN.id))) == ([], [0, 1])


async def test_a_damaged_shard_is_named_and_never_replaces_a_good_copy(tmp_path: Path) -> None:
    store, kept = tmp_path / "store", tmp_path / "kept"
    await grown(store, 0)
    list(back_up(str(store), str(kept)))
    await grown(store, 1)
    shard = store / RUN.id / "accepted/00001.parquet"
    shard.write_bytes(shard.read_bytes()[:-9] + b"garbage!!")
    with pytest.raises(Failure, match=r"accepted/00001.parquet is not what the manifest says: run soliloquy verify"):
        list(back_up(str(store), str(kept)))
    place = Storage(kept / RUN.id)
    assert (list(findings(place)), ordinals_in(place)) == ([], [0])


def test_a_folder_without_datasets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="holds no datasets: use the collector's --data or --store"):
        list(back_up(str(tmp_path), str(tmp_path / "kept")))
