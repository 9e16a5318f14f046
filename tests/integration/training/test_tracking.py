"""MLflow and Weights & Biases have each step of a training, also of one that was killed; one that is away ends none."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training import tracking
from soliloquy_training.step_log import curve_values, steps
from tests.integration.training.processes import command
from tests.tools import PYTHON, needs_tools, told
from tests.waiting import wait_until

Make = Callable[..., Any]
MLFLOW = """
import json, sys
from mlflow import MlflowClient

client = MlflowClient(sys.argv[1])
[experiment] = client.search_experiments()
[run] = client.search_runs([experiment.experiment_id])
names = ("loss", "validation", "tokens_per_second")
curves = {name: [[one.step, one.value] for one in client.get_metric_history(run.info.run_id, name)] for name in names}
print(json.dumps([run.info.run_name, run.info.status, run.data.params["learning_rate"], curves]))
"""
# A run's file holds records as LevelDB's log does: pieces with a header, in blocks of 32 KiB.
WANDB = """
import json, struct, sys
from pathlib import Path
from wandb.proto.wandb_internal_pb2 import Record

[path] = Path(sys.argv[1]).rglob("*.wandb")
data, place, record, rows = path.read_bytes(), 7, b"", []
while place < len(data):
    if (room := 32768 - place % 32768) < 7:
        place += room
        continue
    _, length, kind = struct.unpack_from("<IHB", data, place)
    record += data[place + 7 : place + 7 + length]
    place += 7 + length
    if kind in (1, 4):
        items = Record.FromString(record).history.item
        record = b""
        if items:
            rows.append({"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items})
print(json.dumps(rows))
"""


def tracked(job: Any, tracker: str, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    """Starts the command with the libraries of the tools behind its own."""
    [libraries] = PYTHON.parents[1].glob("lib/python*/site-packages")
    _, _, program, *options = command(job, "--track", tracker)
    program = f"import sys; sys.path.append({str(libraries)!r}); {program}"
    return subprocess.Popen(
        [sys.executable, "-c", program, *options], env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True
    )


def succeed(process: "subprocess.Popen[str]") -> None:
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors


@needs_tools
@pytest.mark.thorough
def test_mlflow_has_each_step_of_a_killed_training_in_one_run(job: Make, tmp_path: Path) -> None:
    asked = job("tutor-1", max_steps=12, epochs=4)
    # The client without its server has no other local store.
    store = {"MLFLOW_TRACKING_URI": f"file:{tmp_path}/runs", "MLFLOW_ALLOW_FILE_STORE": "true"}
    killed = tracked(asked, "mlflow", store)
    try:
        wait_until((asked.folder / tracking.FILE).exists)
    finally:
        killed.kill()
        killed.communicate()
    assert not (asked.folder / "report.json").exists()
    succeed(tracked(asked, "mlflow", store))
    name, status, learning_rate, curves = told(MLFLOW, store["MLFLOW_TRACKING_URI"], environment=store)
    assert (name, status, float(learning_rate)) == ("tutor-1", "FINISHED", asked.settings.learning_rate)
    written = steps(asked.folder / "metrics.jsonl")
    assert dict(curves["loss"]) == {step["step"]: step["loss"] for step in written}
    assert dict(curves["validation"]) == {
        step["step"]: step["validation"] for step in written if step["validation"] is not None
    }
    assert len(written) == 12


@needs_tools
@pytest.mark.thorough
def test_weights_and_biases_has_each_step_without_a_network(job: Make, tmp_path: Path) -> None:
    asked = job("tutor-1")
    succeed(tracked(asked, "wandb", {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path)}))
    rows = told(WANDB, tmp_path)
    written = steps(asked.folder / "metrics.jsonl")
    assert [row["_step"] for row in rows] == [1, 2, 3, 4, 5]
    for row, step in zip(rows, written, strict=True):
        assert row.items() >= curve_values(step).items()


class Hesitant:
    """Takes its first step, then none for two calls."""

    def __init__(self, job: Any, run: str) -> None:
        self.id = run or "first"
        self.taken: list[int] = []
        self.calls = 0
        self.succeeded: bool | None = None

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.calls += 1
        if self.calls in (2, 3):
            raise ConnectionError("away")
        self.taken.append(step)

    def end(self, *, succeeded: bool) -> None:
        self.succeeded = succeeded


def test_a_tracker_that_is_away_for_a_while_has_each_step_in_the_end(
    job: Make, whole: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked, made = job("tutor-1"), list[Hesitant]()
    asked.folder.mkdir()
    (asked.folder / "metrics.jsonl").write_bytes((whole / "metrics.jsonl").read_bytes())

    def begin(job: Any, run: str) -> Hesitant:
        made.append(Hesitant(job, run))
        return made[-1]

    monkeypatch.setitem(tracking.TRACKERS, "mlflow", begin)
    with caplog.at_level(logging.WARNING), tracking.tracking("mlflow", asked):
        wait_until(lambda: len(made[0].taken) == 5)
    assert made[0].taken == [1, 2, 3, 4, 5]
    assert [record.getMessage() for record in caplog.records] == ["mlflow takes no steps (away): the training goes on"]
    assert json.loads((asked.folder / tracking.FILE).read_text()) == {"mlflow": {"run": "first", "step": 5}}
    with pytest.raises(Failure), tracking.tracking("mlflow", asked):
        raise Failure("the loss is not finite")
    assert (made[1].id, made[1].taken) == ("first", [])
    assert [run.succeeded for run in made] == [True, False]


def test_a_tracker_that_begins_no_run_is_one_line(job: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(job: Any, run: str) -> Hesitant:
        raise ConnectionError("nobody\nis there")

    monkeypatch.setitem(tracking.TRACKERS, "wandb", begin)
    with (
        pytest.raises(Failure, match=r"^wandb begins no run \(nobody is there\): check its settings, or leave out"),
        tracking.tracking("wandb", job("tutor-1")),
    ):
        pass
