"""`soliloquy model fake` that cannot begin."""

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


@pytest.mark.parametrize("problems", ["chemistry", "absent.jsonl"])
def test_problems_that_are_not_there_are_named(problems: str) -> None:
    assert repr(problems) in refusal("--http", "127.0.0.1:0", "--problems", problems)
