"""Checks what `soliloquy sandbox run` prints of an execution."""

import json

import pytest

from soliloquy.cli.runs_view import tell_status
from soliloquy.cli.sandbox import outcome_json, outcome_lines
from soliloquy.cli.terminal import answer
from soliloquy.v1.gateway_pb2 import DatasetState, RunStatus
from soliloquy.v1.runs_pb2 import RunState
from soliloquy.v1.sandbox_pb2 import (
    LANE_FAST,
    LANE_SINGLE_USE,
    STATUS_ERROR,
    STATUS_OK,
    Execution,
    NamedValue,
    Value,
)

_DONE = Execution(
    status=STATUS_OK,
    values=[
        NamedValue(name="reach", value=Value(real=13.8)),
        NamedValue(name="right", value=Value(boolean=True)),
        NamedValue(name="digits", value=Value(integer="9" * 5_000)),
        NamedValue(name="nothing", value=Value(real=float("nan"))),
    ],
    stdout="one\ntwo\n",
    lane=LANE_FAST,
    isolation="gvisor-ptrace",
    runsc_version="1",
    seconds=0.0012,
    waited_seconds=0.03,
    recomputed=["right"],
)


def test_a_person_reads_values_output_and_where_it_ran() -> None:
    assert list(outcome_lines(_DONE)) == [
        "ok",
        "reach = 13.8",
        "right = True  (recomputed on the host)",
        f"digits = {'9' * 5_000}",
        "nothing = nan",
        "stdout:",
        "    one",
        "    two",
        "fast lane, 1.2 ms after waiting 30.0 ms; gvisor-ptrace, runsc 1",
    ]


def test_a_program_reads_the_same_as_json() -> None:
    report = json.loads(json.dumps(outcome_json(_DONE)))
    assert report["values"] == {"reach": 13.8, "right": True, "digits": "9" * 5_000, "nothing": "nan"}
    assert (report["status"], report["lane"], report["recomputed"]) == ("ok", "fast", ["right"])


def test_an_error_names_its_line_and_a_job_that_ran_nowhere_has_no_lane() -> None:
    failed = Execution(
        status=STATUS_ERROR, error="NameError: x", error_line=3, lane=LANE_SINGLE_USE, isolation="gvisor"
    )
    first, last = outcome_lines(failed)
    assert first == "error: NameError: x (line 3)"
    assert last.startswith("single-use lane")
    assert list(outcome_lines(Execution(status=STATUS_ERROR, error="there is no code"))) == ["error: there is no code"]


def test_a_job_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07\x9b1m\r\u202e"
    value = NamedValue(name="x", value=Value(unserialisable=hostile))
    answer(
        {}, outcome_lines(Execution(status=STATUS_ERROR, error=hostile, stdout=hostile, values=[value])), as_json=False
    )
    shown = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert shown.count("\\x1b[2J") == 3


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (DatasetState.DATASET_STATE_WRITTEN, "written, in 3f2a-1 of the collector's --data or --store"),
        (DatasetState.DATASET_STATE_WRITING, "being written, in 3f2a-1 of the collector's --data or --store"),
        (DatasetState.DATASET_STATE_INCOMPLETE, "incomplete, in 3f2a-1 of the collector's --data or --store"),
        (DatasetState.DATASET_STATE_UNSPECIFIED, "not seen by this gateway"),
    ],
)
def test_the_status_of_a_run_says_where_its_dataset_lies(
    state: DatasetState, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    tell_status(RunStatus(id="3f2a-1", state=RunState.RUN_STATE_FINISHED, dataset=state))
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("dataset")]
    assert line.split(maxsplit=1)[1].strip() == words
