"""`python -m benchmarks`: figures whose jobs were right."""

import sys

from tests.e2e.runs import measured, one_line, run

SANDBOX = [sys.executable, "-m", "benchmarks", "sandbox", "--mix", "fast", "--seconds", "1"]


def test_a_program_gets_figures_and_which_targets_they_reach() -> None:
    figures = measured(SANDBOX)
    assert set(figures["mixes"]) == {"fast"}
    assert set(figures["mixes"]["fast"]["lanes"]) == {"fast"}
    assert figures["mixes"]["fast"]["times_subprocess"]["jobs_per_second"]["median"] > 1
    assert figures["machine"]["isolation"].startswith("gvisor-")
    assert {target["figure"].split(".")[1] for target in figures["targets"]} == {"fast"}


def test_without_gvisor_nothing_is_measured() -> None:
    result = run(SANDBOX, environment={"PATH": ""})
    assert one_line(result).startswith("soliloquy: gVisor is missing: ")
