"""A real Prometheus over real services under load: the right alerts fire within their windows, and clear afterwards.

Of the rules, a minute passes in three seconds.
"""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from services.runtime.bench.processes import family, stats
from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.e2e.runs import SOLILOQUY, kill, said
from tests.observability.alerting import Alerts, watching

HASTE = 20
CONVERSATIONS = 1000
IN_FLIGHT = 16
LATENCY = ("--latency", "100ms")
# Below the ports that the system hands to outgoing connections, beside those of the installations.
PORT = 11_990
RUNSC = """#!/bin/sh
[ ! -e {broken} ] || {{ echo "out of order" >&2; exit 1; }}
exec {runsc} "$@"
"""


def quiet(alerts: Alerts) -> None:
    """Returns when nothing fires: on a busy machine a scrape may have come too late."""
    until(lambda: alerts.firing() == {}, "alerts stay", 120)


def fires(alerts: Alerts, alert: str, since: float) -> None:
    """Within its window, from a moment on."""
    told = alerts.fires(alert)
    seconds = time.monotonic() - since
    assert seconds < alerts.window(alert), f"{alert} took {seconds:.1f} s"
    print(f"\n{alert} fired after {seconds:.1f} s: {told['annotations']['summary']}")


@pytest.mark.timeout(600)
def test_a_service_that_is_killed_under_load_is_told_until_it_is_back(kafka: str, tmp_path: Path) -> None:
    with (
        Installation(tmp_path, kafka, *LATENCY) as installation,
        watching(installation.addresses, PORT, tmp_path, HASTE) as alerts,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(5)
        quiet(alerts)
        # Whoever would start it again does not, as on a machine that has no room for it.
        installation.signal_up(signal.SIGSTOP)
        installation.kill("student-0")
        killed_at = time.monotonic()
        for alert in ("SoliloquyTargetDown", "SoliloquyServiceAbsent"):
            fires(alerts, alert, killed_at)
        assert alerts.firing()["SoliloquyServiceAbsent"]["labels"]["service"] == "student"
        assert alerts.firing()["SoliloquyTargetDown"]["labels"]["pod"] == "student-0"
        installation.signal_up(signal.SIGCONT)
        for alert in ("SoliloquyTargetDown", "SoliloquyServiceAbsent"):
            print(f"{alert} cleared {alerts.clears(alert):.1f} s later")
        run.reach(run.collected + 20)
        quiet(alerts)


@pytest.mark.timeout(600)
def test_sandboxes_that_cannot_start_and_their_dead_letters_are_told_until_they_are_mended(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, runsc = tmp_path / "broken", tmp_path / "bin" / "runsc"
    runsc.parent.mkdir()
    runsc.write_text(RUNSC.format(broken=broken, runsc=shutil.which("runsc")), "utf-8")
    runsc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{runsc.parent}:{os.environ['PATH']}")
    with (
        Installation(tmp_path, kafka, *LATENCY) as installation,
        watching(installation.addresses, PORT, tmp_path, HASTE) as alerts,
        Run(installation, tmp_path / "out", conversations=60, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(5)
        quiet(alerts)
        broken.touch()
        executor = installation.pid("executor-0")
        for pid in family([executor], stats()) - {executor}:
            kill(pid)
        fires(alerts, "SoliloquySandboxNotReady", time.monotonic())

        def given_up() -> float:
            return sum(installation.metric(post, "soliloquy_dead_letters") for post in installation.posts)

        # Each calculation is tried five times before.
        until(given_up, "nothing is given up", 300)
        fires(alerts, "SoliloquyDeadLetters", time.monotonic())
        broken.unlink()
        print(f"SoliloquySandboxNotReady cleared {alerts.clears('SoliloquySandboxNotReady'):.1f} s later")
        reach = [f"--{name.replace('_', '-')}={value}" for name, value in installation.reach.items()]

        def cleared() -> bool:
            """What was waiting for its last attempt may become a letter after the first replay."""
            assert said([SOLILOQUY, "dlq", "replay", *reach]).returncode == 0
            return "SoliloquyDeadLetters" not in alerts.firing()

        until(cleared, "letters stay", 120)
        run.finish()
        quiet(alerts)
