"""A run goes on while its datasets move from the volume to tables and back, as the operator's guide says."""

import asyncio
import contextlib
from functools import partial
from pathlib import Path

import pytest

from soliloquy.dataset.selection import MissingDataset
from soliloquy.v1.gateway_pb2 import DatasetState
from soliloquy.v1.runs_pb2 import RunState
from tests.e2e.runs import SOLILOQUY, said
from tests.integration.gateway.contract import last_of
from tests.integration.gateway.support import asked
from tests.integration.gateway.test_kafka import TOPICS
from tests.integration.gateway.test_recovery import held
from tests.integration.gateway.test_removed_datasets import collected, installation
from tests.integration.transport.kafka import fresh_address
from tests.unit.chart.objects import kinds, objects
from tests.unit.chart.test_scaling import TABLES
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.waiting import until

CONVERSATIONS = 60
PART = CONVERSATIONS // 3


def holds(dataset: str, conversations: int) -> bool:
    with contextlib.suppress(MissingDataset):
        return held(dataset).total() == conversations
    return False


@pytest.mark.thorough
async def test_a_run_goes_on_in_tables_and_back_on_the_volume(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, address = str(catalog_in(tmp_path, monkeypatch)), await fresh_address(kafka, TOPICS)
    [job] = kinds(objects(TABLES), "CronJob").values()
    [container] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    async with asyncio.timeout(240):
        async with installation(address, tmp_path) as at:
            run = await at.gateway.start_run(asked("moving", conversations=CONVERSATIONS))
            at.let(PART)
            await until(partial(collected, at, run.id, PART))
        volume, table = f"{at.store}/{run.id}", f"{store}/{run.id}"
        async with installation(address, tmp_path, store=store) as at:
            # Kafka still has all that the volume has.
            await until(partial(holds, table, PART))
            at.let(PART)
            await until(partial(holds, table, 2 * PART))
            args = [store if word.startswith("iceberg:") else word for word in container["args"]]
            compacted = await asyncio.to_thread(said, [SOLILOQUY, *args])
            assert compacted.returncode == 0, compacted.stderr
        assert holds(volume, PART)
        (at.data / "lock").unlink()
        async with installation(address, tmp_path) as at:
            at.let(CONVERSATIONS)
            last = await last_of(at.gateway, run.id)
    assert (last.state, last.dataset) == (RunState.RUN_STATE_FINISHED, DatasetState.DATASET_STATE_WRITTEN)
    for dataset, conversations in ((volume, CONVERSATIONS), (table, 2 * PART)):
        checked = await asyncio.to_thread(said, [SOLILOQUY, "verify", dataset])
        assert checked.returncode == 0, checked.stdout
        assert (held(dataset).total(), set(held(dataset).values())) == (conversations, {1})
