"""Watchers hear when the dataset of a run is written, which the collector does after the run is over."""

import asyncio
from pathlib import Path

from services.gateway.service import Gateway
from services.gateway.settings import GatewaySettings
from soliloquy.dataset.manifest import Shard, write_manifest
from soliloquy.dataset.storage import Storage
from soliloquy.v1.gateway_pb2 import DatasetState, WatchRunRequest
from soliloquy.v1.runs_pb2 import RunState
from tests.integration.gateway.support import PLANS, Collecting, asked, growing
from tests.integration.transport.embedded import connect

FINISHED = RunState.RUN_STATE_FINISHED
WRITING, WRITTEN = DatasetState.DATASET_STATE_WRITING, DatasetState.DATASET_STATE_WRITTEN


async def test_who_watches_a_run_is_told_when_its_dataset_is_written(tmp_path: Path) -> None:
    async with connect(str(tmp_path / "events.db")) as transport, growing(transport, Collecting()):
        gateway = Gateway(transport, PLANS, GatewaySettings(datasets=str(tmp_path / "data")))
        async with gateway.at_work(), asyncio.timeout(30):
            run = await gateway.start_run(asked(conversations=2))
            told = []
            async for status in gateway.watch_run(WatchRunRequest(run=run.id)):
                told.append((status.state, status.dataset))
                if told[-1] == (FINISHED, WRITING):
                    folder = tmp_path / "data" / run.id
                    folder.mkdir(parents=True, exist_ok=True)
                    shard = Shard(name="accepted/00000.parquet", rows=2, bytes=1, sha256="")
                    write_manifest(Storage(folder), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, [shard])
    assert (FINISHED, WRITING) in told
    assert told[-1] == (FINISHED, WRITTEN)
