"""A training whose writes fail ends with the same adapter once the same command is run again."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.faults.shim import Strike, environment
from tests.integration.training.conftest import base as base
from tests.integration.training.conftest import data as data
from tests.integration.training.conftest import job as job
from tests.integration.training.conftest import whole as whole
from tests.integration.training.processes import adapter, command, losses
from tests.models import needs_torch

Make = Callable[..., Any]
# Everything that a training writes, in the order of it, each with the number of the call on it that fails.
WRITES = {
    ".run.json": 1,
    "run.json": 1,
    ".prepared": 3,
    "prepared": 1,
    ".metrics.jsonl": 1,
    "metrics.jsonl": 2,
    "tensorboard/": 2,
    "checkpoints/.00000002.pt": 2,
    "checkpoints/00000002.pt": 1,
    "checkpoints/.best.pt": 3,
    "checkpoints/best.pt": 1,
    "checkpoints/.00000004.pt": 9,
    ".adapter.unfinished/adapter_config.json": 1,
    ".adapter.unfinished/loss.png": 1,
    "adapter": 1,
    ".report.json": 1,
    "report.json": 1,
}
OPENED = (
    *(".run.json", ".prepared", "metrics.jsonl", "checkpoints/.00000002.pt", "checkpoints/.best.pt"),
    *(".adapter.unfinished/adapter_model", ".adapter.unfinished/loss.png", ".report.json"),
)
ERRORS = {
    "ENOSPC": ("change", errno.ENOSPC, False),
    "EIO": ("change", errno.EIO, False),
    "torn": ("change", errno.EIO, True),
    "EMFILE": ("open", errno.EMFILE, False),
}
SECONDS = 900


@needs_torch
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", ERRORS)
def test_a_training_whose_every_write_fails_once_comes_to_the_same_adapter(
    whole: Path, job: Make, shim: Path, tmp_path: Path, name: str
) -> None:
    calls, error, torn = ERRORS[name]
    struck = job("struck")
    strikes = [
        Strike(
            calls=calls,
            at=WRITES[file] if calls == "change" else 1,
            under=struck.folder / file,
            error=error,
            torn=torn,
            mark=tmp_path / f"mark-{number}",
        )
        for number, file in enumerate(WRITES if calls == "change" else OPENED)
    ]
    told = {"settings": struck.settings.model_dump(mode="json"), "base": str(struck.base), "data": struck.data}
    trying = [sys.executable, "-m", "tests.faults.training_again", json.dumps(told | {"folder": str(struck.folder)})]
    ended = subprocess.run(
        trying,
        env={**os.environ, **environment(shim, strikes)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    missed = [str(strike.under.relative_to(struck.folder)) for strike in strikes if not strike.struck]
    failures = ended.stdout.splitlines()
    print(f"\n{name}: {len(strikes) - len(missed)} faults, ended {len(failures)} times")
    assert not missed

    # What a write that was cut short leaves over is written next.
    assert torn or failures
    assert all(failure.startswith("cannot ") for failure in failures)
    _assert_is_like(struck.folder, whole)


@needs_torch
@pytest.mark.timeout(900)
def test_the_command_finishes_a_training_that_broke_off_between_its_adapter_and_its_report(
    whole: Path, job: Make, shim: Path, tmp_path: Path
) -> None:
    cut = job("cut")
    report, mark = cut.folder / ".report.json", tmp_path / "mark"
    strike = Strike(calls="change", at=1, under=report, error=errno.ENOSPC, mark=mark)
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in environment(shim, [strike]).items():
            patch.setenv(variable, value)
        ended = _run(cut)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
        assert "report.json (No space left on device): free some space" in ended.stderr
        assert (cut.folder / "adapter").is_dir()
        again = _run(cut)
    assert again.returncode == 0, again.stderr
    _assert_is_like(cut.folder, whole)


def _assert_is_like(folder: Path, whole: Path) -> None:
    report = json.loads((folder / "report.json").read_bytes())
    assert losses(folder) == losses(whole)
    assert adapter(folder) == adapter(whole)
    assert report["adapter_digest"] == sha256(adapter(whole)).hexdigest()


def _run(job: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(job), capture_output=True, text=True, timeout=SECONDS, check=False)
