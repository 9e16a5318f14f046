"""`soliloquy model serve` with what it cannot do: one line that says what to do, before anything is started."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.runtime.http_server import listening
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


def refusal_of_the_fake(*arguments: str) -> str:
    result = CliRunner().invoke(commands, ["model", "fake", *arguments])
    assert result.exit_code == 2
    return result.stderr.removeprefix("soliloquy: ")


def test_a_port_that_is_taken_is_named() -> None:
    with listening("127.0.0.1:0") as taken:
        port = taken.getsockname()[1]
        assert refusal_of_the_fake("--http", f"127.0.0.1:{port}").startswith(f"cannot listen on 127.0.0.1:{port}: ")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "a pipe or a device"),
        (lambda file: file.symlink_to("/dev/zero"), "a pipe or a device"),
        (lambda file: file.write_bytes(b"k" * 5 * 1024**2), "more than"),
        (lambda file: file.write_bytes(b"\xff\xfe"), "codec can't decode"),
        (lambda file: file.write_text("two words"), "holds no key"),
        (Path.touch, "holds no key"),
    ],
)
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    make(file := tmp_path / "key")
    said = refusal_of_the_fake("--http", "127.0.0.1:0", "--key-file", str(file))
    assert words in said
    assert len(said.splitlines()) == 1
