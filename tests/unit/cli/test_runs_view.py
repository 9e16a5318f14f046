"""What `soliloquy runs` prints of a run."""

import pytest

from soliloquy.cli.runs_view import print_status
from soliloquy.v1.gateway_pb2 import DatasetState, RunStatus
from soliloquy.v1.runs_pb2 import RunState


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (DatasetState.DATASET_STATE_WRITTEN, "written, in 3f2a-1 of the collector's --data or --store"),
        (DatasetState.DATASET_STATE_WRITING, "being written, in 3f2a-1 of the collector's --data or --store"),
        (DatasetState.DATASET_STATE_UNSPECIFIED, "not seen by this gateway"),
    ],
)
def test_the_status_of_a_run_says_where_its_dataset_lies(
    state: DatasetState, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    print_status(RunStatus(id="3f2a-1", state=RunState.RUN_STATE_FINISHED, dataset=state))
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("dataset")]
    assert line.split(maxsplit=1)[1].strip() == words
