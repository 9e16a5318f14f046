"""Replaces everything under load, one by one and all at once: nothing is lost, hardly anything is repeated."""

import signal
from pathlib import Path

import pytest

from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.history import history
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.e2e.runs import dataset

CONVERSATIONS = 600
IN_FLIGHT = 64
LATENCY = "100ms"
REPLACE_SECONDS = 180.0


@pytest.mark.timeout(1200)
def test_a_rolling_restart_under_load_repeats_nothing(kafka: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    with (
        Installation(tmp_path, kafka, "--latency", LATENCY) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(CONVERSATIONS // 20)
        before = installation.pids()
        installation.signal_up(signal.SIGHUP)
        replaced = until(lambda: "processes replaced" in installation.said, "not all are replaced", REPLACE_SECONDS)
        assert not before.items() & installation.pids().items()
        at_once = run.collected
        assert installation.stop_up() == 0
        installation.start()
        restarted = installation.wait_until_ready()
        assert run.goes_on, "the run ended before all were replaced"
        run.finish()
        assert "killed" not in installation.said
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        found = history(installation.settings)
    print(
        f"\n8 services replaced in {replaced:.1f} s up to conversation {at_once}, "
        f"all at once in {restarted:.1f} s: {found.summary}"
    )
    assert not found.disordered
    assert found.repeats.total() == 0
