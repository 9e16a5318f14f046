"""A run is deleted for good, whatever is killed meanwhile."""

import os
import signal
import urllib.error
from pathlib import Path

import pytest

from tests.e2e.consoles import Site, site
from tests.waiting import wait_until


def ended(at: Site, request_id: str) -> str:
    run = at.started(3, request_id=request_id)
    wait_until(lambda: at.call("GET", f"/v1/runs/{run}")["state"] == "RUN_STATE_FINISHED")
    return run


def test_a_run_deleted_just_before_a_kill_is_gone_with_its_dataset_after_the_next_start(tmp_path: Path) -> None:
    with site(tmp_path) as at:
        kept, gone = ended(at, "kept"), ended(at, "gone")
        folders = {run: tmp_path / "data" / run for run in (kept, gone)}
        assert all((folder / "manifest.json").exists() for folder in folders.values())
        assert at.call("DELETE", f"/v1/runs/{gone}")["state"] == "RUN_STATE_DELETED"
        os.killpg(at.process.pid, signal.SIGKILL)
    with site(tmp_path) as at:
        wait_until(lambda: not folders[gone].exists())
        assert (folders[kept] / "manifest.json").exists()
        assert [run["id"] for run in at.call("GET", "/v1/runs")["runs"]] == [kept]
        assert at.call("DELETE", f"/v1/runs/{gone}")["state"] == "RUN_STATE_DELETED"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            at.call("GET", f"/v1/runs/{gone}")
