"""A conversation that is forgotten is in no file, is brought back by no collector, and is missed by no check."""

from collections import Counter
from pathlib import Path

import pytest

from soliloquy.dataset.backup import back_up
from soliloquy.dataset.forgetting import forget
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.lock import write_lock
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.runtime.failure import Failure
from soliloquy_services.collector.live import LiveDataset
from tests.unit.collector.collecting import numbered

RUN = numbered(0).run
LAST = 6


def opened(folder: Path) -> LiveDataset:
    return LiveDataset(Storage(folder), folder / ".run", RUN, ShardLimits(rows=3))


async def grown(folder: Path, *ordinals: int) -> None:
    dataset = opened(folder)
    for ordinal in ordinals:
        await dataset.add(numbered(ordinal), ["fault"] if ordinal % 3 == 2 else [], None)
    dataset.cut_after(0.0)
    await dataset.roll()
    dataset.close()


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store" / "run"
    await grown(folder, *range(LAST))
    return folder


def held(folder: Path) -> Counter[str]:
    found = Dataset(folder)
    return Counter(one.id for rejected in (False, True) for one in found.conversations(rejected=rejected))


def others(*gone: int) -> Counter[str]:
    return Counter(numbered(ordinal).id for ordinal in range(LAST) if ordinal not in gone)


@pytest.mark.parametrize("ordinal", [0, 2, 4], ids=["accepted", "rejected", "of the last shard"])
async def test_no_file_holds_it_and_the_rest_is_sound(folder: Path, ordinal: int) -> None:
    gone = numbered(ordinal).id
    assert forget(str(folder), [gone, "unknown"]) == {gone}
    assert (held(folder), list(findings(Storage(folder)))) == (others(ordinal), [])
    for shard in folder.rglob("*.parquet"):
        assert gone.encode() not in shard.read_bytes()
    assert forget(str(folder), [gone]) == set()


async def test_no_collector_brings_it_back_and_later_ones_find_their_places(folder: Path) -> None:
    for ordinal in (0, 1):
        forget(str(folder), [numbered(ordinal).id])
    await grown(folder, *range(LAST), LAST)
    assert held(folder) == others(0, 1) + Counter([numbered(LAST).id])
    assert list(findings(Storage(folder))) == []


class Killed(BaseException):
    """No code of ours stops it, as none stops a kill."""


@pytest.mark.parametrize("step", ["write_manifest", "remove_leftovers"])
async def test_a_repeat_finishes_what_a_kill_broke_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def kill(*_: object) -> None:
        raise Killed

    before = held(folder)
    with monkeypatch.context() as patched:
        patched.setattr(f"soliloquy.dataset.forgetting.{step}", kill)
        with pytest.raises(Killed):
            forget(str(folder), [numbered(0).id])
    assert held(folder) in (before, others(0))
    forget(str(folder), [numbered(0).id])
    assert (held(folder), list(findings(Storage(folder)))) == (others(0), [])


async def test_a_backup_that_is_repeated_forgets_it_as_well(folder: Path, tmp_path: Path) -> None:
    store, kept = str(folder.parent), tmp_path / "kept"
    list(back_up(store, str(kept)))
    forget(str(folder), [numbered(3).id])
    list(back_up(store, str(kept)))
    assert (held(kept / "run"), list(findings(Storage(kept / "run")))) == (others(3), [])


async def test_a_whole_dataset_leaves_nothing(folder: Path) -> None:
    forget(str(folder), None)
    assert not folder.exists()
    with pytest.raises(NoDataset, match="does not exist"):
        forget(str(folder), None)


@pytest.mark.parametrize("ids", [["id"], None], ids=["one", "all"])
async def test_a_dataset_that_is_being_written_is_left_alone(folder: Path, ids: list[str] | None) -> None:
    with (
        write_lock(Storage(folder.parent), folder.parent),
        pytest.raises(Failure, match=r"is writing .*: stop it first"),
    ):
        forget(str(folder), ids)
    assert held(folder) == others()


async def test_a_dataset_with_conversations_in_no_shard_is_left_alone(folder: Path) -> None:
    dataset = opened(folder)
    await dataset.add(numbered(LAST), [], None)
    dataset.close()
    with pytest.raises(Failure, match="has conversations in no shard yet"):
        forget(str(folder), [numbered(LAST).id])
