"""A command of a benchmark that fails is one line."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from benchmarks import command


def forecast(*options: str) -> str:
    """The only line of a forecast that fails."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks", "forecast", *options], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1, ended.stdout
    [line] = ended.stderr.strip().splitlines()
    return line


def test_an_endpoint_that_does_not_start_says_why_in_one_line() -> None:
    line = forecast("--latency", "soon")
    assert line.startswith("Error: soliloquy model fake does not start: ")
    assert "soon" in line


def test_a_run_that_fails_says_why_in_one_line() -> None:
    line = forecast("--seed", "-1")
    assert line.startswith("Error: soliloquy generate --recipe scaffold ")
    assert "ended with status 2: " in line
    assert "-1" in line.rpartition("ended with")[2]


def test_a_run_that_is_killed_says_by_which_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = tmp_path / "soliloquy"
    killed.write_text("#!/bin/sh\nkill -9 $$\n", "ascii")
    killed.chmod(0o755)
    monkeypatch.setattr(command, "_SOLILOQUY", killed)
    with pytest.raises(click.ClickException, match="soliloquy generate --json ended with signal 9: it says nothing"):
        command.generated(["--json"])
