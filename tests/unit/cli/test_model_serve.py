"""`soliloquy model serve` with what it cannot do: one line that says what to do, before anything is started."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.runtime.listening import listening
from tests.cases import each_case


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(commands, ["model", "serve", *arguments])
    assert result.exit_code == 2
    return result.stderr.removeprefix("soliloquy: ").strip()


@each_case
def test_what_does_not_go_together_is_named(arguments: list[str], complaint: str) -> None:
    assert complaint in refusal(*arguments)


@each_case
def test_settings_of_an_engine_that_cannot_be_are_named_before_it_is_looked_for(
    engine: str, content: str, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "engine.toml"
    file.write_text(content, "utf-8")
    weights = () if engine == "scripted" else ("--model", str(tmp_path))
    line = refusal("--engine", engine, *weights, "--engine-settings", str(file))
    assert complaint in line
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("engine", ["transformers", "vllm"])
def test_an_engine_without_its_library_is_told_how_it_is_installed(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("torch", "vllm"):
        monkeypatch.setitem(sys.modules, library, None)
    assert "is not installed: pip install" in refusal("--engine", engine, "--model", str(tmp_path))


def test_a_port_that_is_taken_is_said_so() -> None:
    with listening("127.0.0.1:0") as listener:
        taken = f"127.0.0.1:{listener.getsockname()[1]}"
        assert refusal("--grpc", taken) == f"cannot listen on {taken}: Address already in use: choose another address"


def test_without_ray_it_is_told_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    line = refusal("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
    assert line == "ray is not installed: pip install -e '.[serve]'"
