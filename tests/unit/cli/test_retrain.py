"""`soliloquy retrain`: what it cannot begin with is one line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from tests.cases import each_case
from tests.models import needs_torch

SERVED = ["--base", ".", "--name", "tutor", "--model-address", "127.0.0.1:9"]
SMOKE = ["--config", "smoke"]
REGISTRY = ["--registry", "registry"]


@needs_torch
@each_case
def test_what_cannot_be_retrained_is_one_line(
    options: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text("")
    result = CliRunner().invoke(commands, ["retrain", *SERVED, *options])
    assert result.exit_code == 2
    assert line in result.stderr or line in str(result.exception)
    assert not Path("retraining").exists()
