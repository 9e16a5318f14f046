"""`python -m benchmarks`: figures whose jobs were right, for a person and for a program."""

import sys

from tests.e2e.runs import measured, run

SANDBOX = [sys.executable, "-m", "benchmarks", "sandbox", "--mix", "fast", "--seconds", "1"]


def test_a_program_gets_figures_and_which_targets_they_reach() -> None:
    figures = measured(SANDBOX)
    assert set(figures["mixes"]) == {"fast"}
    assert set(figures["mixes"]["fast"]["lanes"]) == {"fast"}
    assert figures["mixes"]["fast"]["times_subprocess"]["jobs_per_second"]["median"] > 1
    assert figures["machine"]["isolation"].startswith("gvisor-")
    assert {target["figure"].split(".")[1] for target in figures["targets"]} == {"fast"}


def test_a_person_gets_tables_with_the_targets() -> None:
    result = run([sys.executable, "-m", "benchmarks", "observe", "--pairs", "1"])
    assert (result.returncode, result.stderr) == (0, "")
    assert "events a CPU second" in result.stdout
    assert "at most 0.05" in result.stdout


def test_without_gvisor_nothing_is_measured() -> None:
    result = run(SANDBOX, environment={"PATH": ""})
    assert (result.returncode, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("soliloquy: gVisor is missing: ")


def test_what_a_person_waits_for_is_told_beside_its_target() -> None:
    figures = measured([sys.executable, "-m", "benchmarks", "chat", "--chats", "1"])
    assert figures["one"]["calculated"]["messages"]["median"] > 0
    assert {target["at_most"] for target in figures["targets"]} == {50}


def test_what_watchers_wait_for_and_cost_is_told_beside_its_target() -> None:
    figures = measured([sys.executable, "-m", "benchmarks", "gateway", "--seconds", "1", "--conversations", "700"])
    assert figures["one"]["p99_ms"]["median"] > 0
    assert {target["figure"].split(".")[0] for target in figures["targets"]} == {"one", "grpc", "http", "restart"}


def test_services_that_are_not_there_cannot_be_scraped() -> None:
    result = run([sys.executable, "-m", "benchmarks", "observe", "--http-from", "1"])
    assert (result.returncode, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("soliloquy: http://127.0.0.1:1/metrics does not answer")


def test_a_kafka_that_is_not_there_is_one_line() -> None:
    for what in ("transport", "pipeline", "observe"):
        result = run([sys.executable, "-m", "benchmarks", what, "--kafka", "127.0.0.1:1"])
        assert (result.returncode, result.stdout) == (2, "")
        [line] = result.stderr.splitlines()
        assert line.startswith("soliloquy: 127.0.0.1:1 refuses connections")
