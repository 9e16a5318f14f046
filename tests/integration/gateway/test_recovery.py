"""A Kafka that has lost its data is told what the datasets hold: no run is forgotten, and those under way go on."""

import asyncio
from collections import Counter
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pytest

from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.record import records
from soliloquy.runs.recovery import Recovered, recover
from soliloquy.v1.gateway_pb2 import DatasetState
from soliloquy.v1.runs_pb2 import RunState
from tests.e2e.runs import SOLILOQUY, said
from tests.integration.gateway.contract import last_of
from tests.integration.gateway.support import asked, status_of
from tests.integration.gateway.test_kafka import TOPICS
from tests.integration.gateway.test_removed_datasets import collected, installation
from tests.integration.transport.kafka import connect, fresh_address, settings
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.waiting import until

CONVERSATIONS = 40
DONE = 10


async def told(address: str, store: str, runs: int | None = None) -> list[Recovered]:
    """Recovers all runs, or is killed after so many."""
    found: list[Recovered] = []
    async with connect(address) as transport, aclosing(recover(store, transport)) as recovering:
        async for one in recovering:
            found.append(one)
            if len(found) == runs:
                break
    return found


def held(dataset: str) -> Counter[str]:
    found = Dataset(dataset)
    return Counter(one.id for rejected in (False, True) for one in found.conversations(rejected=rejected))


@pytest.mark.parametrize("in_tables", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["folder", "tables"])
async def test_no_run_is_forgotten_and_those_under_way_go_on(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_tables: bool
) -> None:
    store = str(catalog_in(tmp_path, monkeypatch)) if in_tables else ""
    before, after = await fresh_address(kafka, TOPICS), await fresh_address(kafka, TOPICS)
    async with installation(before, tmp_path, store=store, first_rejected=3) as at, asyncio.timeout(120):
        done = await at.gateway.start_run(asked("done", conversations=DONE, max_attempts=2))
        at.let(DONE + -(-DONE // 3))
        finished = await last_of(at.gateway, done.id)
        run = await at.gateway.start_run(asked("open", conversations=CONVERSATIONS, max_attempts=2))
        at.let(CONVERSATIONS // 2)
        await until(partial(collected, at, run.id, CONVERSATIONS // 3))
        await until(lambda: dict(records(at.store)).get(run.id))
    kept = held(f"{at.store}/{run.id}")

    [first] = await told(after, at.store, runs=1)
    [second] = await told(after, at.store)
    reach = ["--kafka", settings(after).bootstrap, "--kafka-prefix", settings(after).prefix]
    if in_tables:
        other = f"prefix {settings(after).prefix!r}"
        assert other in Tables.opened(Location.parsed(store)).conversations.properties["soliloquy.installation"]
    repeated = await asyncio.to_thread(said, [SOLILOQUY, "recover", at.store, *reach])
    assert repeated.stdout == f"the topics know every run of {at.store}\n"
    accounts = {one.run: one for one in (first, second)}
    assert accounts[done.id] == Recovered(
        run=done.id, state=RunState.RUN_STATE_FINISHED, accepted=DONE, rejected=finished.progress.rejected
    )
    assert accounts[run.id].accepted + accounts[run.id].rejected == kept.total()

    async with installation(after, tmp_path, store=store, first_rejected=3) as at, asyncio.timeout(120):
        again = await status_of(at.gateway, done.id)
        assert again.state == RunState.RUN_STATE_FINISHED
        assert again.progress == finished.progress
        assert (await status_of(at.gateway, run.id)).state == RunState.RUN_STATE_RUNNING
        at.let(2 * CONVERSATIONS)
        last = await last_of(at.gateway, run.id)
        found = held(f"{at.store}/{run.id}")
    assert (last.state, last.dataset) == (RunState.RUN_STATE_FINISHED, DatasetState.DATASET_STATE_WRITTEN)
    assert last.progress.accepted == CONVERSATIONS
    # Each third problem was solved at its second attempt, and no attempt was held again.
    assert last.progress.rejected == -(-CONVERSATIONS // 3)
    assert (found.total(), set(found.values())) == (last.progress.accepted + last.progress.rejected, {1})
    assert kept.keys() <= found.keys()
