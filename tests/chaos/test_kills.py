"""Kills a whole run and its workers with kill -9 at twenty random moments: the dataset equals the uninterrupted one."""

import random
import time
from pathlib import Path

import pytest

from tests.e2e.runs import command, dataset, grown, kill, kill_run, start, wait_for_end, worker_pids

KILLS = 20
CONVERSATIONS = 120
# Kills come from before the log exists until well into the work.
MOMENTS = (0.2, 6.0)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reference") / "dataset"
    grown(out, conversations=CONVERSATIONS)
    return out


def slow(out: Path) -> list[str]:
    """Starts the run to be killed: the same dataset, slow enough to be hit twenty times."""
    return command(out, conversations=CONVERSATIONS, workers=2, in_flight=8, latency="100ms")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_twenty_times_ends_with_the_same_bytes(reference: Path, tmp_path: Path, seed: int) -> None:
    moments, out, killed, workers = random.Random(seed), tmp_path / "out", 0, list[int]()
    while killed < KILLS:
        process = start(slow(out))
        time.sleep(moments.uniform(*MOMENTS))
        assert process.poll() is None, "the run ended before it was killed often enough"
        workers += kill_run(process)
        killed += 1
    grown(out, conversations=CONVERSATIONS)
    assert dataset(out) == dataset(reference)
    wait_for_end(workers)


@pytest.mark.timeout(900)
def test_a_run_whose_workers_are_killed_twenty_times_ends_with_the_same_bytes(reference: Path, tmp_path: Path) -> None:
    moments, out, killed = random.Random(3), tmp_path / "out", 0
    process = start(slow(out))
    while killed < KILLS:
        time.sleep(moments.uniform(0.1, 3.0))
        assert process.poll() is None, "the run ended before its workers were killed often enough"
        if workers := worker_pids(process.pid):
            kill(moments.choice(workers))
            killed += 1
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert dataset(out) == dataset(reference)
