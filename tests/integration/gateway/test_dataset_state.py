"""Who watches a run hears when its dataset is written, which the collector does after the run is over."""

import asyncio
from pathlib import Path

from soliloquy.client import AsyncRuns
from soliloquy.dataset.manifest import Shard, write_manifest
from soliloquy.dataset.storage import Storage
from soliloquy.v1.gateway_pb2 import DatasetState
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.served import served
from tests.integration.gateway.support import Collecting, growing
from tests.integration.transport.support import Connect

FINISHED = RunState.RUN_STATE_FINISHED
WRITING, WRITTEN = DatasetState.DATASET_STATE_WRITING, DatasetState.DATASET_STATE_WRITTEN


async def test_who_watches_a_run_is_told_when_its_dataset_is_written(connect: Connect, tmp_path: Path) -> None:
    settings = GatewaySettings(datasets=str(tmp_path / "data"))
    async with (
        connect() as transport,
        growing(transport, Collecting()),
        served(transport, settings=settings) as address,
        AsyncRuns(address) as runs,
        asyncio.timeout(120),
    ):
        run = await runs.start(problems="arithmetic", conversations=2)
        told = []
        async for status in runs.watch(run.id):
            told.append((status.state, status.dataset))
            if told[-1] == (FINISHED, WRITING):
                folder = tmp_path / "data" / run.id
                folder.mkdir(parents=True, exist_ok=True)
                shard = Shard(name="accepted/00000.parquet", rows=2, bytes=1, sha256="")
                write_manifest(Storage(folder), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, [shard])
    assert (FINISHED, WRITING) in told
    assert told[-1] == (FINISHED, WRITTEN)
