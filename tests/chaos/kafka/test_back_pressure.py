"""Uses a model a hundred times slower than the rest: nothing piles up, runs share fairly, a cancelled run ends."""

import re
import signal
import statistics
import time
from pathlib import Path

import pytest

from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run

# More conversations than can finish during the test.
CONVERSATIONS = 5000
# Two runs together exceed a service's lanes.
IN_FLIGHT = 128
LATENCY = "2500ms"
WARM_SECONDS, WATCH_SECONDS, LOOK_SECONDS = 60.0, 90.0, 3.0
GROWTH = 1.1
FAIR = 0.8
# Problems that both drivers submit ahead.
SUBMITTED = 2 * (IN_FLIGHT + 128)

CANCELLED_LATENCY = "30s"
CANCEL_SECONDS = 10.0


@pytest.mark.timeout(900)
def test_behind_a_slow_model_memory_and_lag_stay_flat_and_two_runs_share(kafka: str, tmp_path: Path) -> None:
    with (
        Installation(tmp_path, kafka, "--latency", LATENCY) as installation,
        Run(installation, tmp_path / "ours", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as ours,
        Run(installation, tmp_path / "theirs", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as theirs,
    ):
        memory: list[dict[str, float]] = []
        lags: list[dict[str, float]] = []
        began = time.monotonic()
        while (passed := time.monotonic() - began) < WARM_SECONDS + WATCH_SECONDS:
            if passed >= WARM_SECONDS:
                memory.append(installation.memory_mib())
                lags.append({post: installation.metric(post, "soliloquy_lag_events") for post in installation.posts})
            time.sleep(LOOK_SECONDS)
        collected = [run.collected for run in (ours, theirs)]
        assert ours.goes_on
        assert theirs.goes_on
    quarter = len(memory) // 4
    grew = {
        post: statistics.mean(seen[post] for seen in memory[-quarter:])
        / statistics.mean(seen[post] for seen in memory[:quarter])
        for post in memory[0]
    }
    total = [sum(lag.values()) for lag in lags]
    print(
        f"\nover {WATCH_SECONDS:g} s memory became at most {max(grew.values()):.3f} times what it was "
        f"(at the end {sum(memory[-1].values()):.0f} MiB in {len(memory[-1])} processes), "
        f"lag was {min(total):.0f} to {max(total):.0f} events; two runs collected {collected}"
    )
    assert max(grew.values()) <= GROWTH, grew
    # One event per conversation in progress, plus the problems that wait for admission.
    assert max(total) <= 2 * IN_FLIGHT + SUBMITTED
    assert min(collected) >= FAIR * max(collected) > 0


@pytest.mark.timeout(600)
def test_a_cancelled_run_ends_within_seconds_and_interrupts_the_model(kafka: str, tmp_path: Path) -> None:
    with (
        Installation(tmp_path, kafka, "--latency", CANCELLED_LATENCY) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=32) as run,
    ):
        until(lambda: installation.metric("student-0", "soliloquy_lanes_in_use") == 32, "the model is not busy", 30.0)
        run.process.send_signal(signal.SIGINT)
        began = time.monotonic()
        status, said = run.end()
        ended = time.monotonic() - began
        idle = until(
            lambda: installation.metric("student-0", "soliloquy_lanes_in_use") == 0, "calls go on", CANCEL_SECONDS
        )
        dropped = installation.metric("student-0", "soliloquy_events_cancelled_total")
    print(
        f"\ncancelled in {ended:.1f} s, {dropped:.0f} model calls of {CANCELLED_LATENCY} interrupted {idle:.1f} s later"
    )
    assert status == 130
    assert ended <= CANCEL_SECONDS
    left = re.search(r"stopped at 0 of 5000, (\d+) under way were dropped", said)
    assert left is not None, said
    assert int(left[1]) == 32
    assert dropped == 32
