"""`python -m benchmarks pipeline`: two minutes of waiting for a model that takes its time."""

import sys

import pytest

from tests.e2e.runs import measured

PIPELINE = [sys.executable, "-m", "benchmarks", "pipeline", "--conversations", "6", "--in-flight", "6"]


@pytest.mark.timeout(300)
def test_the_loop_is_held_against_the_limit_that_its_model_sets() -> None:
    loop = measured(PIPELINE)["embedded"]
    for latency in ("even", "uneven"):
        figures = {name: part["median"] for name, part in loop[latency].items() if name != "cpu_ms_a_turn"}
        # All begin at once: the limit is what the longest conversation waits, and nothing is below it.
        assert 0 < figures["limit_seconds"] <= figures["seconds"]
        assert figures["share_of_limit"] == pytest.approx(figures["limit_seconds"] / figures["seconds"], rel=0.01)
        assert figures["calls"] > 2 * figures["turns"] > 0
    assert loop["even"]["limit_seconds"]["median"] % 1 == 0
    assert loop["killed"]["answered_before"]["median"] > 0
