"""Suspends a group member beyond its session; when it wakes, its work is taken over and it does no harm."""

import signal
from pathlib import Path

import pytest

from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.history import history
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.e2e.runs import dataset

CONVERSATIONS = 300
IN_FLIGHT = 64
LATENCY = "200ms"
FENCED = "soliloquy_events_fenced_total"


@pytest.mark.timeout(900)
def test_a_stopped_member_that_goes_on_does_no_harm(kafka: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    with (
        Installation(tmp_path, kafka, "--latency", LATENCY, scales={"student": 2}) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(CONVERSATIONS // 10)
        held = {post: installation.held(post) for post in ("student-0", "student-1")}
        assert all(held.values()), held
        installation.signal("student-0", signal.SIGSTOP)
        taken_over = until(
            lambda: installation.held("student-1") == sum(held.values()),
            "student-1 has not taken over",
            installation.settings.session_seconds + installation.settings.rebalance_seconds,
        )
        run.reach(CONVERSATIONS // 3)
        zombie = installation.pid("student-0")
        installation.signal("student-0", signal.SIGCONT)
        until(lambda: 0 < installation.held("student-0") < sum(held.values()), "student-0 has no share again", 60.0)
        fenced = installation.metric("student-0", FENCED) + installation.metric("student-1", FENCED)
        went_on = installation.pid("student-0") == zombie
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        found = history(installation.settings)
    print(
        f"\ntaken over after {taken_over:.1f} s; the zombie {'went on' if went_on else 'was started again'}, "
        f"{fenced:.0f} of its results were refused: {found.summary}"
    )
    assert not found.disordered
    assert found.repeats.total() <= IN_FLIGHT
