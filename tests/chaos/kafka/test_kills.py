"""Kills everything with kill -9, sixty times during one run: each conversation is in the dataset exactly once."""

import os
import random
import time
from pathlib import Path

import pytest

from soliloquy.runs.driver import SUBMITTED_AHEAD
from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.history import history
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.e2e.runs import dataset
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started

# A tenth of both is done quickly.
KILLS = int(os.environ.get("FAULT_KILLS", "60"))
CONVERSATIONS = int(os.environ.get("FAULT_CONVERSATIONS", "2000"))
IN_FLIGHT = 64
LATENCY = "100ms"
SEED = 11
# Share of conversations collected by the last kill; the rest show that the run continued.
LAST = 0.95
# Seconds between the drawn conversation and the kill.
DELAY = (0.0, 0.5)
# The driver may finish the last ones before the collector does.
COLLECT_SECONDS = 60.0


def victims(moments: random.Random, posts: list[str]) -> list[str]:
    """Yields every service, the broker, the supervisor and the driver in turn, in a different order each time."""
    found: list[str] = []
    while len(found) < KILLS:
        found += moments.sample([*posts, "broker", "up", "driver"], len(posts) + 3)
    return found[:KILLS]


@pytest.mark.timeout(3600)
def test_sixty_kills_of_everything_lose_and_double_no_conversation(undisturbed: Undisturbed, tmp_path: Path) -> None:
    moments = random.Random(SEED)
    with (
        started(KafkaCluster(tmp_path)) as cluster,
        Installation(tmp_path, cluster.bootstrap, "--latency", LATENCY) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        began = time.monotonic()
        chosen = victims(moments, installation.posts)
        for victim, share in zip(chosen, sorted(moments.uniform(0, LAST) for _ in chosen), strict=True):
            run.reach(int(share * CONVERSATIONS))
            time.sleep(moments.uniform(*DELAY))
            match victim:
                case "driver":
                    run.kill()
                    run.start()
                case "up":
                    installation.kill_up()
                    installation.start()
                case "broker":
                    cluster.kill(1)
                    cluster.start_node(1)
                case _:
                    installation.kill(victim)
        run.finish()
        seconds = time.monotonic() - began
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        until(lambda: len(installation.collected()) >= CONVERSATIONS, "not all are collected", COLLECT_SECONDS)
        assert len(installation.collected()) == len(set(installation.collected()))
        found = history(installation.settings)
    print(f"\n{KILLS} kills over {CONVERSATIONS} conversations in {seconds:.0f} s: {found.summary}")
    assert not found.disordered
    # Each conversation is in one place, so a kill repeats at most one event of each conversation in progress.
    submissions = found.repeats.pop("problem.submitted", 0)
    assert found.repeats.total() <= KILLS * IN_FLIGHT
    assert submissions <= chosen.count("driver") * (IN_FLIGHT + SUBMITTED_AHEAD)
