"""A run whose share shrinks is down to it at the next turns, and goes on from there when it has more."""

from pathlib import Path

from soliloquy.runs.supervision import LOG
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from tests.e2e.consoles import Site, site
from tests.e2e.preemption import check_held_conversations_end_as_they_would_have, progress, waiting
from tests.e2e.runs import kill
from tests.waiting import wait_until


def test_a_share_that_shrinks_holds_conversations_at_a_turn_and_they_end_as_they_would_have(tmp_path: Path) -> None:
    log = tmp_path / "data" / LOG
    check_held_conversations_end_as_they_would_have(tmp_path, lambda: EmbeddedTransport(log), ("loop", "collector"))


def test_a_paused_run_waits_at_its_turns_over_a_gateway_s_end_and_a_cancelled_one_waits_for_nothing(
    tmp_path: Path,
) -> None:
    with site(tmp_path, "--latency", "300ms") as at:
        run = at.started(50, request_id="long", in_flight=4)
        wait_until(lambda: progress(at, run)["under_way"] == 4)
        at.call("POST", f"/v1/runs/{run}/pause")
        wait_until(lambda: waiting(at) == progress(at, run)["held"] == progress(at, run)["under_way"] > 0)
        kill(at.gateway)
        wait_until(lambda: answers(at))
        assert waiting(at) == progress(at, run)["held"] > 0
        at.call("POST", f"/v1/runs/{run}/resume")
        wait_until(lambda: waiting(at) == progress(at, run)["held"] == 0)
        at.call("POST", f"/v1/runs/{run}/pause")
        wait_until(lambda: waiting(at) == progress(at, run)["under_way"] > 0)
        at.call("POST", f"/v1/runs/{run}/cancel")
        wait_until(lambda: waiting(at) == progress(at, run)["held"] == 0)


def answers(at: Site) -> bool:
    try:
        return bool(at.call("GET", "/v1/runs")["runs"])
    except OSError:
        return False
