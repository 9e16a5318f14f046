"""Kills brokers of three, or cuts them off from the others or from everybody: the run continues."""

import asyncio
import time
from pathlib import Path

import pytest

from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply, check, plan
from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.history import history
from tests.chaos.kafka.installation import Installation
from tests.chaos.kafka.run import Run
from tests.e2e.runs import dataset
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started

CONVERSATIONS = 600
IN_FLIGHT = 64
LATENCY = "100ms"
# Conversations that finish while a broker is away.
MEANWHILE = CONVERSATIONS // 6
# A broker stays cut off longer than the session timeout.
CUT_SECONDS = 10.0


@pytest.mark.timeout(1800)
def test_a_run_goes_on_while_one_broker_of_three_is_lost_and_then_another(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    cluster = KafkaCluster(tmp_path, brokers=3)
    stalls = []
    with (
        started(cluster),
        Installation(tmp_path, cluster.bootstrap, "--latency", LATENCY, replication=3) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(IN_FLIGHT)
        for node in (1, 2):
            cluster.kill(node)
            began, collected = time.monotonic(), run.collected
            # Conversations in progress may finish without that broker; as many more cannot.
            run.reach(collected + MEANWHILE)
            stalls.append(time.monotonic() - began)
            cluster.start_node(node)
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        found = history(installation.settings)
    print(f"\n{MEANWHILE} conversations without a broker in {_shown(stalls)}: {found.summary}")
    assert not found.disordered
    assert found.repeats.total() <= len(stalls) * IN_FLIGHT


@pytest.mark.timeout(1800)
def test_a_run_goes_on_while_one_broker_of_three_is_cut_off(undisturbed: Undisturbed, tmp_path: Path) -> None:
    cluster = KafkaCluster(tmp_path, brokers=3, namespaces=True)
    with (
        started(cluster),
        Installation(tmp_path, cluster.bootstrap, "--latency", LATENCY, replication=3) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(IN_FLIGHT)
        cluster.cut(1)
        began, collected = time.monotonic(), run.collected
        run.reach(collected + MEANWHILE)
        stall = time.monotonic() - began
        time.sleep(max(0.0, installation.settings.session_seconds + CUT_SECONDS - stall))
        cluster.mend(1)
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        found = history(installation.settings)
    print(f"\n{MEANWHILE} conversations while a broker was cut off in {_shown([stall])}: {found.summary}")
    assert not found.disordered
    assert found.repeats.total() <= IN_FLIGHT


async def test_a_cluster_that_has_lost_a_broker_passes_the_check_all_the_same(tmp_path: Path) -> None:
    with started(KafkaCluster(tmp_path, brokers=3, heap="256m")) as cluster:
        settings = KafkaSettings(bootstrap=cluster.bootstrap)
        topics = sorted(shape.topic for shape in shapes())
        await apply(settings)
        cluster.kill(3)
        # Clients pick a broker at random and learn only later that one is dead.
        await asyncio.gather(*(check(settings, topics) for _ in range(5)))
        assert await plan(settings) == []


def _shown(seconds: list[float]) -> str:
    return " and ".join(f"{taken:.0f} s" for taken in seconds)
