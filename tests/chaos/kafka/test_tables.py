"""Kills collectors, broker, catalog and store with kill -9 during one run: its rows are in the table exactly once."""

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.dataset.reading import Dataset
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started
from tests.lakehouse.lakehouse import STORE, lakehouse

# A tenth of both is done quickly.
KILLS = int(os.environ.get("FAULT_KILLS", "60"))
CONVERSATIONS = int(os.environ.get("FAULT_CONVERSATIONS", "2000"))
VICTIMS = ("collector-0", "collector-1", "broker", "catalog", "store")
SEED = 12
# Share of conversations collected by the last kill; the rest show that the run continued.
LAST = 0.95
# Seconds between the drawn conversation and the kill, and those that a catalog or store is away.
DELAY, AWAY = (0.0, 1.5), (0.0, 8.0)
COLLECT_SECONDS = 120.0


@pytest.mark.timeout(7200)
def test_sixty_kills_lose_and_double_no_row_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = random.Random(SEED)
    (tmp_path / "kafka").mkdir()
    with lakehouse(tmp_path) as tables, started(KafkaCluster(tmp_path / "kafka")) as cluster:
        for name, value in tables.environment.items():
            monkeypatch.setenv(name, value)
        options = ("--latency", "100ms", "--store", STORE, "--shard-seconds", "1s")
        with (
            Installation(tmp_path, cluster.bootstrap, *options, scales={"collector": 2}) as installation,
            Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=64) as run,
        ):
            for share in sorted(moments.uniform(0, LAST) for _ in range(KILLS)):
                run.reach(int(share * CONVERSATIONS))
                time.sleep(moments.uniform(*DELAY))
                match moments.choice(VICTIMS):
                    case "broker":
                        cluster.kill(1)
                        cluster.start_node(1)
                    case "catalog":
                        tables.catalog.kill()
                        time.sleep(moments.uniform(*AWAY))
                        tables.catalog.start()
                    case "store":
                        tables.warehouse.kill()
                        time.sleep(moments.uniform(*AWAY))
                        tables.warehouse.start()
                    case victim:
                        installation.kill(victim)
            run.finish()
            finished = {
                one.id for rejected in (False, True) for one in Dataset(run.out).conversations(rejected=rejected)
            }
            until(lambda: held().keys() >= finished, "not all are collected", COLLECT_SECONDS)
            assert set(held().values()) == {1}


def held() -> Counter[str]:
    table = Tables.opened(Location.parsed(STORE)).conversations
    return Counter(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())
