"""Sizes and addresses as people write them."""

import click
import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.cli.parameters import ADDRESS, SIZE


@pytest.mark.parametrize(("text", "size"), [("256MiB", 2**28), ("1GiB", 2**30), ("4KiB", 4096)])
def test_a_size_is_read(text: str, size: int) -> None:
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["lots", "256", "0MiB", "-1MiB", "256MB", "1.5GiB", "", "9" * 30 + "MiB"])
def test_what_is_no_size_is_said_so(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"e\.g\. 512MiB"):
        SIZE.convert(text, None, None)


@pytest.mark.parametrize("text", ["127.0.0.1:0", "localhost:65535", "[::1]:50051", "sandbox.example-1:1"])
def test_an_address_is_taken_as_it_is(text: str) -> None:
    assert ADDRESS.convert(text, None, None) == text


@pytest.mark.parametrize("text", ["", "localhost", ":1", "127.0.0.1:65536", "127.0.0.1:http", "::1", "a b:1", "h:-1"])
def test_what_is_no_address_is_said_so(text: str) -> None:
    with pytest.raises(click.BadParameter, match="use HOST:PORT"):
        ADDRESS.convert(text, None, None)


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("SOLILOQUY_TRACE_SHARE", "2", "SOLILOQUY_TRACE_SHARE: 2.0 is not in the range 0<=x<=1"),
        ("SOLILOQUY_LOG_FORMAT", "xml", "SOLILOQUY_LOG_FORMAT: 'xml' is not one of"),
        ("SOLILOQUY_KAFKA_WAIT", "long", "SOLILOQUY_KAFKA_WAIT: invalid duration 'long'"),
    ],
)
def test_a_variable_with_an_impossible_value_is_named(variable: str, value: str, complaint: str) -> None:
    result = CliRunner().invoke(commands, ["service", "curriculum", "--kafka", "k:1"], env={variable: value})
    assert result.exit_code == 2
    assert complaint in result.output
