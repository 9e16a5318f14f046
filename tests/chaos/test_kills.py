"""kill -9 at twenty random moments, of the whole run and of its workers: the dataset is the uninterrupted one."""

import random
import time
from pathlib import Path

import pytest

from tests.e2e.runs import alive, command, dataset, grown, kill, start, worker_pids

KILLS = 20
CONVERSATIONS = 120
# From before the log exists to well into the work.
MOMENTS = (0.2, 6.0)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reference") / "dataset"
    grown(out, conversations=CONVERSATIONS)
    return out


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_twenty_times_ends_with_the_same_bytes(reference: Path, tmp_path: Path, seed: int) -> None:
    moments, out, killed = random.Random(seed), tmp_path / "out", 0
    workers: list[int] = []
    while killed < KILLS and not (out / "manifest.json").exists():
        process = start(command(out, conversations=CONVERSATIONS, workers=1 + killed % 2))
        time.sleep(moments.uniform(*MOMENTS))
        if process.poll() is None:
            workers += worker_pids(process.pid)
            kill(process.pid)
            killed += 1
        process.communicate()
    grown(out, conversations=CONVERSATIONS)
    print(f"{killed} kills")
    assert killed >= KILLS // 2
    assert dataset(out) == dataset(reference)
    assert not [pid for pid in workers if alive(pid)]


@pytest.mark.timeout(900)
def test_a_run_whose_workers_are_killed_twenty_times_ends_with_the_same_bytes(reference: Path, tmp_path: Path) -> None:
    moments, out, killed = random.Random(3), tmp_path / "out", 0
    process = start(command(out, conversations=CONVERSATIONS, workers=2, in_flight=8, latency="100ms"))
    while killed < KILLS and process.poll() is None:
        time.sleep(moments.uniform(0.1, 3.0))
        if workers := worker_pids(process.pid) if process.poll() is None else []:
            kill(moments.choice(workers))
            killed += 1
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert killed == KILLS
    assert dataset(out) == dataset(reference)
