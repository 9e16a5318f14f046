"""`soliloquy bench`: figures whose jobs were right, for a person and for a program."""

import json

from services.executor.bench.figures import figure
from tests.e2e.runs import SOLILOQUY, run

BENCH = [SOLILOQUY, "bench", "sandbox", "--mix", "fast", "--seconds", "1"]


def test_a_program_gets_figures_and_which_targets_they_reach() -> None:
    result = run([*BENCH, "--json"])
    assert (result.returncode, result.stderr) == (0, "")
    figures = json.loads(result.stdout)
    assert set(figures["mixes"]) == {"fast"}
    assert set(figures["mixes"]["fast"]["lanes"]) == {"fast"}
    assert figures["mixes"]["fast"]["times_subprocess"]["jobs_per_second"]["median"] > 1
    assert figures["machine"]["isolation"].startswith("gvisor-")
    assert {target["figure"].split(".")[1] for target in figures["targets"]} == {"fast"}
    assert all(figure(figures, target["figure"]) == target["measured"] for target in figures["targets"])


def test_a_person_gets_tables() -> None:
    result = run(BENCH)
    assert (result.returncode, result.stderr) == (0, "")
    assert "jobs/s a core" in result.stdout
    assert "at least 500" in result.stdout


def test_without_gvisor_nothing_is_measured() -> None:
    result = run(BENCH, environment={"PATH": ""})
    assert (result.returncode, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("soliloquy: gVisor is missing: ")
