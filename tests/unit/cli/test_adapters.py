"""`soliloquy adapters` and `retrain` without a model service: what is kept, and what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.main import commands
from tests.cases import each_case
from tests.models import needs_torch
from tests.unit.training.adapters.folders import adapter, training


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(commands, ["adapters", *map(str, arguments)])


def test_what_is_pushed_is_listed_once_with_what_its_training_found(tmp_path: Path) -> None:
    made, where = training(tmp_path / "made"), ("--registry", tmp_path / "registry")
    pushed = command("push", made, "--name", "tutor", *where)
    assert pushed.exit_code == 0
    id = pushed.output.strip()
    assert command("push", made, "--name", "tutor", *where).output == f"{id} is already in the registry\n"
    [version] = json.loads(command("list", "--json", *where).output)["versions"]
    assert (version["id"], version["metrics"]["validation"]["loss"]) == (id, 0.25)
    listed = command("list", *where)
    assert (listed.exit_code, id in listed.output, "0.2500" in listed.output) == (0, True, True)


def test_an_empty_registry_lists_nothing(tmp_path: Path) -> None:
    listed = command("list", "--json", "--registry", tmp_path / "none")
    assert (listed.exit_code, json.loads(listed.output)) == (0, {"versions": [], "active": {}})


def test_what_cannot_be_kept_is_one_line(tmp_path: Path) -> None:
    made = adapter(tmp_path / "made", card="# no card of ours\n")
    refused = command("push", made, "--name", "tutor", "--registry", tmp_path / "registry")
    assert refused.exit_code == 2
    assert "has no base_model_digest" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "registry" / "versions").exists()


SERVED = ["--base", ".", "--name", "tutor", "--model-address", "127.0.0.1:9"]
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
