"""`soliloquy bench`: figures whose jobs were right, for a person and for a program."""

import json
from typing import Any

import pytest

from services.runtime.bench.figures import figure
from tests.e2e.runs import SOLILOQUY, run

SANDBOX = [SOLILOQUY, "bench", "sandbox", "--mix", "fast", "--seconds", "1"]
PIPELINE = [SOLILOQUY, "bench", "pipeline", "--conversations", "6", "--in-flight", "6"]


def measured(arguments: list[str]) -> dict[str, Any]:
    result = run([*arguments, "--json"])
    assert (result.returncode, result.stderr) == (0, "")
    figures: dict[str, Any] = json.loads(result.stdout)
    assert all(figure(figures, target["figure"]) == target["measured"] for target in figures["targets"])
    return figures


def test_a_program_gets_figures_and_which_targets_they_reach() -> None:
    figures = measured(SANDBOX)
    assert set(figures["mixes"]) == {"fast"}
    assert set(figures["mixes"]["fast"]["lanes"]) == {"fast"}
    assert figures["mixes"]["fast"]["times_subprocess"]["jobs_per_second"]["median"] > 1
    assert figures["machine"]["isolation"].startswith("gvisor-")
    assert {target["figure"].split(".")[1] for target in figures["targets"]} == {"fast"}


def test_a_person_gets_tables() -> None:
    result = run(SANDBOX)
    assert (result.returncode, result.stderr) == (0, "")
    assert "jobs/s a core" in result.stdout
    assert "at least 500" in result.stdout


def test_without_gvisor_nothing_is_measured() -> None:
    result = run(SANDBOX, environment={"PATH": ""})
    assert (result.returncode, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("soliloquy: gVisor is missing: ")


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


def test_a_kafka_that_is_not_there_is_one_line() -> None:
    for what in ("transport", "pipeline"):
        result = run([SOLILOQUY, "bench", what, "--kafka", "127.0.0.1:1"])
        assert (result.returncode, result.stdout) == (2, "")
        [line] = result.stderr.splitlines()
        assert line.startswith("soliloquy: 127.0.0.1:1 refuses connections")
