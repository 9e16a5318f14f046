"""Kills a whole run and its workers with kill -9 at twenty random moments: the dataset equals the uninterrupted one."""

import json
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runs import (
    command,
    dataset,
    grown,
    journal_frames,
    kill,
    kill_run,
    killed_at_end,
    wait_for_end,
    wait_for_frames,
    worker_pids,
)

KILLS = 20
CONVERSATIONS = 120
# Conversations collected between two kills, so that no machine is too fast or too slow for twenty.
FEWEST, MOST = 1, 5
# A kill during the start comes this soon, from before the log exists until the first conversations have begun.
START_SECONDS = 2.0
# Seconds between the last of those conversations and the kill, in which others are under way.
DELAY_SECONDS = 0.2
PROGRESS_SECONDS = 120.0


# With harsh noise answers go back and turns are taken back.
@pytest.fixture(scope="module", params=["none", "harsh"])
def noise(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, noise: str) -> Path:
    out = tmp_path_factory.mktemp("reference") / "dataset"
    grown(out, conversations=CONVERSATIONS, noise=noise)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert bool(manifest["counts"]["rewinds"]) is (noise == "harsh")
    return out


def slow(out: Path, noise: str) -> list[str]:
    """Starts the run to be killed: the same dataset, its conversations long enough to be hit anywhere."""
    return command(out, conversations=CONVERSATIONS, workers=2, in_flight=8, latency="100ms", noise=noise)


def wait_for_progress(out: Path, process: subprocess.Popen[str], moments: random.Random) -> None:
    frames = journal_frames(out) + moments.randint(FEWEST, MOST)
    wait_for_frames(out, frames, process, seconds=PROGRESS_SECONDS)
    time.sleep(moments.uniform(0, DELAY_SECONDS))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_twenty_times_ends_with_the_same_bytes(
    reference: Path, tmp_path: Path, noise: str, seed: int
) -> None:
    moments, out, workers = random.Random(seed), tmp_path / "out", list[int]()
    for number in range(KILLS):
        with killed_at_end(slow(out, noise)) as process:
            if number % 4 == 0:
                time.sleep(moments.uniform(0, START_SECONDS))
            else:
                wait_for_progress(out, process, moments)
            assert process.poll() is None, "the run ended before it was killed often enough"
            workers += kill_run(process)
    print(f"\n{KILLS} kills up to conversation {journal_frames(out)} of {CONVERSATIONS}")
    grown(out, conversations=CONVERSATIONS, noise=noise)
    assert dataset(out) == dataset(reference)
    wait_for_end(workers)


@pytest.mark.timeout(900)
def test_a_run_killed_twice_goes_on_beyond_the_problems_that_waited(tmp_path: Path) -> None:
    """Each start submits again what waits; some of it is under way at the second kill, and has ended when it comes."""
    out, reference = tmp_path / "out", tmp_path / "reference"
    # More than twice what waits at once.
    many: dict[str, Any] = {"conversations": 400, "in_flight": 4}
    for frames in (8, 20):
        with killed_at_end(command(out, workers=2, **many)) as process:
            wait_for_frames(out, frames, process, seconds=PROGRESS_SECONDS)
            workers = kill_run(process)
        wait_for_end(workers)
    grown(out, **many)
    grown(reference, **many)
    assert dataset(out) == dataset(reference)


@pytest.mark.timeout(900)
def test_a_run_whose_workers_are_killed_twenty_times_ends_with_the_same_bytes(
    reference: Path, tmp_path: Path, noise: str
) -> None:
    moments, out = random.Random(3), tmp_path / "out"
    with killed_at_end(slow(out, noise)) as process:
        for _ in range(KILLS):
            wait_for_progress(out, process, moments)
            assert process.poll() is None, "the run ended before its workers were killed often enough"
            while not (workers := worker_pids(process.pid)):
                time.sleep(0.01)
            kill(moments.choice(workers))
        print(f"\n{KILLS} kills up to conversation {journal_frames(out)} of {CONVERSATIONS}")
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert dataset(out) == dataset(reference)
