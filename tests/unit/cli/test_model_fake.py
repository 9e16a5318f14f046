"""`soliloquy model fake` that cannot begin."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.runtime.listening import listening


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(commands, ["model", "fake", *arguments])
    assert result.exit_code == 2
    return result.stderr.removeprefix("soliloquy: ")


def test_a_port_that_is_taken_is_named() -> None:
    with listening("127.0.0.1:0") as taken:
        port = taken.getsockname()[1]
        assert refusal("--http", f"127.0.0.1:{port}").startswith(f"cannot listen on 127.0.0.1:{port}: ")


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
    said = refusal("--http", "127.0.0.1:0", "--key-file", str(file))
    assert words in said
    assert len(said.splitlines()) == 1
