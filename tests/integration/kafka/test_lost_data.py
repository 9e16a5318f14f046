"""A Kafka that lost all its data, and got its topics again, needs no restart of what works with it."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from soliloquy.runtime.transports.kafka.layout import apply
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started

# A line a minute, and the test takes less than three.
LINES_OF_A_CAUSE = 3


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_services_that_were_never_restarted_do_a_new_run(tmp_path: Path) -> None:
    with (
        started(KafkaCluster(tmp_path, heap="384m")) as cluster,
        Installation(tmp_path, cluster.bootstrap, "--latency", "100ms") as installation,
    ):
        with Run(installation, tmp_path / "lost", conversations=100, in_flight=20) as run:
            run.reach(20)
            processes = installation.pids()
            cluster.kill(1)
            cluster.lose_data(1)
            cluster.start_node(1)
            why = f"are missing: run `soliloquy topics apply --kafka {cluster.bootstrap}"
            until(lambda: all(why in installation.why_not_ready(post) for post in installation.posts), why, 60)
            asyncio.run(apply(installation.settings, replication=1))
            installation.wait_until_ready()
        with Run(installation, tmp_path / "new", conversations=20, in_flight=20) as run:
            run.finish()
        assert installation.pids() == processes
        said = [json.loads(line) for line in installation.said.splitlines()]
    lines = Counter((line["service"], line["message"]) for line in said if "logger" in line.get("fields", {}))
    assert lines
    assert max(lines.values()) <= LINES_OF_A_CAUSE
