"""A collector whose datasets lie in an object store."""

from pathlib import Path

import pytest
import s3fs

from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy_services.collector.live_datasets import LiveDatasets
from soliloquy_services.collector.settings import LiveSettings
from tests.unit.collector.collecting import numbered, ordinals_in
from tests.waiting import until

RUN = numbered(0).run


async def test_a_store_that_vanishes_and_comes_back_holds_each_conversation_once(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.collector.live_datasets.PAUSE_SECONDS", 0.0)
    settings = LiveSettings(data=tmp_path, store=f"{bucket}/datasets", shard_seconds=0.0)
    place, files = Storage(f"{bucket}/datasets/{RUN.id}"), s3fs.S3FileSystem()
    async with LiveDatasets(settings) as datasets:
        files.rm(bucket, recursive=True)
        await datasets.add(numbered(0), [])
        await until(lambda: datasets.fault)
        assert f"{place} failed" in datasets.fault
        await datasets.add(numbered(1), [])
        files.mkdir(bucket)
        await until(lambda: not datasets.fault)
        await until(lambda: ordinals_in(place) == [0, 1])
    async with LiveDatasets(settings) as datasets:
        for ordinal in range(3):
            await datasets.add(numbered(ordinal), [])
    assert ordinals_in(place) == [0, 1, 2]
    assert list(findings(place)) == []
