"""A dataset that grows with its run: whatever happens when, each conversation is in it once."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from soliloquy.dataset import manifest as manifest_module
from soliloquy.dataset.layout import REJECTED, TIMED, ShardLimits
from soliloquy.dataset.lock import Locked
from soliloquy.dataset.manifest import MANIFEST, read_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy_services.collector import live
from soliloquy_services.collector.live import DamagedShard, LiveDataset
from soliloquy_services.collector.live_datasets import LiveDatasets
from soliloquy_services.collector.settings import LiveSettings
from tests.unit.collector.collecting import numbered, ordinals_in
from tests.waiting import until

RUN = numbered(0).run


def opened(folder: Path, *, rows: int = 3) -> LiveDataset:
    return LiveDataset(Storage(folder), folder / ".run", RUN, ShardLimits(rows=rows))


def segments(folder: Path) -> list[Path]:
    return sorted((folder / ".run").glob("journal-*"))


def shards(folder: Path) -> list[str]:
    manifest = read_manifest(Storage(folder))
    return [shard["name"] for shard in manifest["shards"]] if manifest else []


async def add(dataset: LiveDataset, *ordinals: int) -> None:
    for ordinal in ordinals:
        await dataset.add(numbered(ordinal), ["fault"] if ordinal % 2 else [], None)


async def finished(dataset: LiveDataset) -> None:
    dataset.cut_after(0.0)
    await dataset.roll()
    assert dataset.is_idle
    dataset.close()


async def test_a_full_segment_becomes_shards_and_goes(tmp_path: Path) -> None:
    dataset = opened(tmp_path)
    await add(dataset, 4, 2, 1, 0)
    await dataset.roll()
    assert shards(tmp_path) == ["accepted/00000.parquet", "rejected/00000.parquet", "timings/00000.parquet"]
    assert ordinals_in(Storage(tmp_path)) == [4, 2]
    assert len(segments(tmp_path)) == 1
    await finished(dataset)
    assert ordinals_in(Storage(tmp_path)) == [4, 2, 0]
    assert list(findings(Storage(tmp_path))) == []


@pytest.mark.parametrize("added", range(1, 9))
async def test_a_restart_goes_on_where_it_was(tmp_path: Path, added: int) -> None:
    """The first dataset is left as a kill leaves it, sometimes in the middle of its work."""
    killed = opened(tmp_path)
    await add(killed, *range(added))
    if added % 3 == 0:
        await killed.roll()
    killed.close()
    dataset = opened(tmp_path)
    await add(dataset, *range(added, 10), *range(10))
    await finished(dataset)
    assert sorted(ordinals_in(Storage(tmp_path)) + ordinals_in(Storage(tmp_path), REJECTED)) == list(range(10))
    assert list(findings(Storage(tmp_path))) == []


class Killed(BaseException):
    """No code of ours stops it, as none stops a kill."""


def kill(*_: Any, **__: Any) -> None:
    raise Killed


@pytest.mark.parametrize(
    ("owner", "step"),
    [(live, "write_manifest"), (Path, "unlink"), (DatasetWriter, "close"), (DatasetWriter, "add")],
    ids=lambda of: str(getattr(of, "__name__", of)),
)
async def test_a_kill_between_any_two_steps_leaves_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, step: str
) -> None:
    dataset = opened(tmp_path)
    await add(dataset, *range(3))
    dataset.cut_after(0.0)
    with monkeypatch.context() as patched:
        patched.setattr(owner, step, kill)
        with pytest.raises(Killed):
            await dataset.roll()
    dataset.close()
    dataset = opened(tmp_path)
    await add(dataset, *range(6))
    await finished(dataset)
    assert ordinals_in(Storage(tmp_path)) == [0, 2, 4]
    assert ordinals_in(Storage(tmp_path), REJECTED) == [1, 3, 5]
    assert list(findings(Storage(tmp_path))) == []


async def test_what_is_written_for_a_shard_does_not_grow_with_the_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_module, "LISTED", 6)
    dataset, sizes = opened(tmp_path, rows=1), []
    for ordinal in range(40):
        await add(dataset, ordinal)
        dataset.cut_after(0.0)
        await dataset.roll()
        sizes.append((tmp_path / MANIFEST).stat().st_size)
        if ordinal == 20:
            dataset.close()
            dataset = opened(tmp_path, rows=1)
    # Two shards a conversation; a list is a line or two where a shard is four.
    assert max(sizes[30:]) < max(sizes[:10]) * 2
    assert len(shards(tmp_path)) == 80
    assert ordinals_in(Storage(tmp_path)) == list(range(0, 40, 2))
    assert list(findings(Storage(tmp_path))) == []
    dataset.close()


async def test_a_kill_between_a_list_and_its_manifest_leaves_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_module, "LISTED", 4)
    write = Storage.write

    def killed(storage: Storage, name: str, content: bytes) -> None:
        if name == MANIFEST:
            raise Killed
        write(storage, name, content)

    dataset = opened(tmp_path)
    await add(dataset, *range(3))
    dataset.cut_after(0.0)
    await dataset.roll()
    await add(dataset, *range(3, 6))
    dataset.cut_after(0.0)
    with monkeypatch.context() as patched:
        patched.setattr(Storage, "write", killed)
        with pytest.raises(Killed):
            await dataset.roll()
    assert len([*tmp_path.glob("lists/*")]) == 1
    dataset.close()
    dataset = opened(tmp_path)
    await add(dataset, *range(9))
    await finished(dataset)
    assert ordinals_in(Storage(tmp_path)) == [0, 2, 4, 6, 8]
    assert list(findings(Storage(tmp_path))) == []


@pytest.mark.parametrize("change", [Path.unlink, partial(Path.write_text, data="[]")], ids=["gone", "changed"])
async def test_a_list_that_is_gone_or_changed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(manifest_module, "LISTED", 3)
    dataset = opened(tmp_path)
    await add(dataset, *range(3))
    await finished(dataset)
    [list_of_shards] = tmp_path.glob("lists/*")
    change(list_of_shards)
    [line] = findings(Storage(tmp_path))
    assert f"lists/{list_of_shards.name} is " in line


async def test_a_store_that_lists_nothing_after_a_write_leaves_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise OSError("slow down")

    dataset = opened(tmp_path)
    await add(dataset, *range(3))
    dataset.cut_after(0.0)
    with monkeypatch.context() as patched:
        patched.setattr(live, "first_missing", fail)
        with pytest.raises(OSError, match="slow down"):
            await dataset.roll()
    await add(dataset, *range(3, 6))
    await finished(dataset)
    assert ordinals_in(Storage(tmp_path)) == [0, 2, 4]
    assert list(findings(Storage(tmp_path))) == []


async def test_counts_and_duplicates_go_on_over_restarts(tmp_path: Path) -> None:
    for start in range(3):
        dataset = opened(tmp_path)
        await add(dataset, *range(start + 2))
        await finished(dataset)
    manifest = read_manifest(Storage(tmp_path))
    assert manifest is not None
    assert (manifest["counts"]["accepted"], manifest["counts"]["rejected"]) == (2, 2)
    assert manifest["counts"]["turns"] == 4 * len(numbered(0).turns)
    assert manifest["arrival"]["duplicates"] == 2 + 3


async def test_a_damaged_shard_is_named_and_nothing_is_added(tmp_path: Path) -> None:
    dataset = opened(tmp_path)
    await add(dataset, 0)
    await finished(dataset)
    (tmp_path / "accepted" / "00000.parquet").write_bytes(b"no shard")
    with pytest.raises(DamagedShard, match=r"accepted/00000.parquet is damaged"):
        opened(tmp_path)


@pytest.mark.parametrize("enriched", [False, True])
async def test_the_enrichment_of_a_problem_is_counted_once_over_restarts(tmp_path: Path, enriched: bool) -> None:
    for ordinal in range(3):
        dataset, grown = opened(tmp_path), numbered(ordinal)
        if enriched:
            grown.problem.enrichment.calls.add(role="planner", prompt_tokens=5)
        await dataset.add(grown, [], None)
        await finished(dataset)
    manifest = read_manifest(Storage(tmp_path))
    assert manifest is not None
    assert manifest["counts"]["tokens"] == ({"planner": {"prompt": 5, "completion": 0}} if enriched else {})
    assert list(findings(Storage(tmp_path))) == []


@pytest.fixture
def settings(tmp_path: Path) -> LiveSettings:
    return LiveSettings(data=tmp_path / "data", shard_seconds=0.0, limits=ShardLimits(rows=3))


async def test_what_has_waited_long_enough_is_rolled_though_little(settings: LiveSettings) -> None:
    async with LiveDatasets(settings) as datasets:
        await datasets.add(numbered(0), [])
        await until(lambda: shards(settings.data / RUN.id))
    assert ordinals_in(Storage(settings.data / RUN.id)) == [0]


async def written(datasets: LiveDatasets) -> int:
    """How many conversations are in shards, once all are."""

    async def is_written() -> bool:
        return await datasets.written(RUN) is not None

    await until(is_written)
    return await datasets.written(RUN) or 0


async def test_a_run_that_is_asked_for_is_written_at_once(settings: LiveSettings) -> None:
    async with LiveDatasets(replace(settings, shard_seconds=600.0)) as datasets:
        assert await datasets.written(RUN) == 0
        for ordinal in range(2):
            await datasets.add(numbered(ordinal), [])
        assert not shards(settings.data / RUN.id)
        assert await written(datasets) == 2
        assert ordinals_in(Storage(settings.data / RUN.id)) == [0, 1]


async def test_what_a_killed_collector_has_in_no_shard_is_written_when_it_is_asked_for(settings: LiveSettings) -> None:
    folder = settings.data / RUN.id
    killed = opened(folder)
    await add(killed, 0, 2)
    killed.close()
    async with LiveDatasets(replace(settings, shard_seconds=600.0)) as datasets:
        assert await written(datasets) == 2
    assert ordinals_in(Storage(folder)) == [0, 2]


async def test_the_manifest_says_how_far_each_partition_was_read(settings: LiveSettings) -> None:
    async with LiveDatasets(settings) as datasets:
        for ordinal, (partition, offset) in enumerate([(0, 7), (1, 3), (0, 5)]):
            origin = Origin(topic="conversation.finished", partition=partition, offset=offset)
            await datasets.add(numbered(ordinal), [], origin)
    manifest = read_manifest(Storage(settings.data / RUN.id))
    assert manifest is not None
    assert manifest["arrival"]["topics"] == {"conversation.finished": {"0": 8, "1": 4}}


async def test_each_growing_has_a_dataset_and_few_are_open(
    settings: LiveSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.collector.live_datasets.OPEN_DATASETS", 2)
    async with LiveDatasets(settings) as datasets:
        for growing in ("a", "b", "c", "a"):
            grown = numbered(0)
            grown.run.growing = growing
            await datasets.add(grown, [])
            await until(partial(shards, settings.data / f"{RUN.id}-{growing}"))
    for growing in ("a", "b", "c"):
        place = Storage(settings.data / f"{RUN.id}-{growing}")
        assert ordinals_in(place) == [0]
        assert list(findings(place)) == []


async def test_two_collectors_cannot_write_one_folder(settings: LiveSettings) -> None:
    async with LiveDatasets(settings):
        with pytest.raises(Locked, match="another process is writing"):
            await LiveDatasets(settings).__aenter__()


async def test_where_no_shard_can_be_written_the_segments_keep_what_comes(settings: LiveSettings) -> None:
    folder = settings.data / RUN.id
    made = [numbered(ordinal) for ordinal in range(5)]
    for one in made:
        one.turns[0].calls.add(role="tutor", model="m", prompt_tokens=5)
    async with LiveDatasets(settings) as datasets:
        await datasets.add(made[0], [])
        assert await written(datasets) == 1
        in_the_way = folder / TIMED
        in_the_way.rename(folder / "away")
        in_the_way.write_text("no folder", "utf-8")
        for one in made[1:]:
            await datasets.add(one, [])
        await until(lambda: datasets.fault)
        assert "no shard can be written" in datasets.fault
        assert REGISTRY.get_sample_value("soliloquy_shards_blocked") == 1
        assert ordinals_in(Storage(folder)) == [0]
        in_the_way.unlink()
        (folder / "away").rename(in_the_way)
    assert ordinals_in(Storage(folder)) == list(range(5))
    assert list(findings(Storage(folder))) == []
