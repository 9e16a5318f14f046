"""Runs `python -m benchmarks pipeline`: two minutes, mostly waiting for a slow model."""

import sys

import pytest

from tests.e2e.runs import measured

PIPELINE = [sys.executable, "-m", "benchmarks", "pipeline", "--conversations", "6", "--in-flight", "6"]


def test_the_loop_is_held_against_the_limit_that_its_model_sets() -> None:
    loop = measured(PIPELINE)["embedded"]
    for latency in ("even", "uneven"):
        figures = {name: part["median"] for name, part in loop[latency].items() if name != "cpu_ms_a_turn"}
        # All conversations begin at once, so the longest one sets the lower bound.
        assert 0 < figures["limit_seconds"] <= figures["seconds"]
        assert figures["share_of_limit"] == pytest.approx(figures["limit_seconds"] / figures["seconds"], rel=0.01)
        assert figures["calls"] > 2 * figures["turns"] > 0
    assert loop["even"]["limit_seconds"]["median"] % 1 == 0
    assert loop["killed"]["answered_before"]["median"] > 0
