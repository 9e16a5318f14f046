"""The dataset of a deleted run goes, and no other, whatever the collector had of it."""

from pathlib import Path

import pytest

from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.collector.datasets import Datasets
from soliloquy_services.collector.live_datasets import LiveDatasets
from soliloquy_services.collector.settings import LiveSettings
from soliloquy_services.collector.table_datasets import TableDatasets
from tests.unit.collector.collecting import numbered
from tests.unit.dataset.iceberg.catalogs import catalog_in

KEPT, GONE = (Run(id=name, recipe="soliloquy") for name in ("kept", "gone"))


def one(run: Run, ordinal: int) -> Conversation:
    made = numbered(ordinal)
    made.run.CopyFrom(run)
    made.id = f"{run.id}-{ordinal}"
    return made


async def filled(datasets: Datasets) -> None:
    for run in (KEPT, GONE):
        await datasets.add(one(run, 0), [])
        await datasets.record(RunChanged(run=run, state=RunState.RUN_STATE_FINISHED))


async def delete(datasets: Datasets) -> None:
    # Each start hears of it again.
    for _ in range(2):
        await datasets.record(RunChanged(run=GONE, state=RunState.RUN_STATE_DELETED))


@pytest.mark.parametrize("apart", [False, True], ids=["beside the journals", "in a store of its own"])
async def test_its_folder_goes_also_while_it_is_open(tmp_path: Path, *, apart: bool) -> None:
    store = tmp_path / "store" if apart else tmp_path / "data"
    settings = LiveSettings(data=tmp_path / "data", store=str(store) if apart else "", shard_seconds=600.0)
    async with LiveDatasets(settings) as datasets:
        await filled(datasets)
        await delete(datasets)
        assert not (tmp_path / "data" / "gone").exists()
    assert not (store / "gone").exists()
    async with LiveDatasets(settings) as datasets:
        await delete(datasets)
    assert [found.id for found in Dataset(store / "kept")] == ["kept-0"]


async def test_a_dataset_whose_removal_was_killed_goes_at_the_next_start(tmp_path: Path) -> None:
    settings = LiveSettings(data=tmp_path)
    async with LiveDatasets(settings) as datasets:
        await filled(datasets)
    # As it was killed after the manifest.
    (tmp_path / "gone" / "manifest.json").unlink()
    async with LiveDatasets(settings) as datasets:
        await delete(datasets)
    assert not (tmp_path / "gone").exists()


async def test_its_rows_go_from_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = catalog_in(tmp_path, monkeypatch)
    async with TableDatasets(LiveSettings(store=str(location), shard_seconds=0.1)) as datasets:
        await filled(datasets)
        await delete(datasets)
        assert (await datasets.written(GONE), await datasets.written(KEPT)) == (0, 1)
    assert TableWriter(location).count(run_key(KEPT)) == 1
    with pytest.raises(Exception, match="is no dataset"):
        Dataset(f"{location}/gone")
