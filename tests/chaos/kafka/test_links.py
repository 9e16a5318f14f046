"""Services whose link to their broker is slow, or cut for longer than a session: the run ends with the same bytes."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.history import history
from tests.chaos.kafka.installation import Installation
from tests.chaos.kafka.run import Run
from tests.e2e.runs import dataset
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started

CONVERSATIONS = 24
IN_FLIGHT = 8
RATE = "2mbit"
# Beyond the session timeout.
CUT_SECONDS = 5.0

Disturb = Callable[[KafkaCluster, Installation], None]


def _slow(cluster: KafkaCluster, installation: Installation) -> None:
    cluster.slow(1, RATE)


def _cut(cluster: KafkaCluster, installation: Installation) -> None:
    cluster.cut(1)
    time.sleep(installation.settings.session_seconds + CUT_SECONDS)
    cluster.mend(1)


def _slow_and_cut(cluster: KafkaCluster, installation: Installation) -> None:
    cluster.slow(1, RATE)
    _cut(cluster, installation)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("disturb", [_slow, _cut, _slow_and_cut])
def test_a_run_goes_on_over_a_disturbed_link(undisturbed: Undisturbed, tmp_path: Path, disturb: Disturb) -> None:
    cluster = KafkaCluster(tmp_path, namespaces=True)
    with (
        started(cluster),
        Installation(tmp_path, cluster.bootstrap, "--latency", "20ms") as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(2)
        began = time.monotonic()
        disturb(cluster, installation)
        run.finish()
        took = time.monotonic() - began
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        found = history(installation.settings)
        assert (cluster.delayed(1) > 0) == (disturb is not _cut)
    kind = disturb.__name__.strip("_").replace("_", " ")
    print(f"\n{kind}: {CONVERSATIONS} conversations, the last {took:.0f} s later: {found.summary}")
    assert not found.disordered
