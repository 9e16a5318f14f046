"""Sizes, addresses and files as people write them."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.cli.parameters import ADDRESS, DURATION, SIZE, real, whole
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.reading.rows import UnreadableSource
from tests.cases import each_case


@pytest.mark.parametrize(("text", "size"), [("256MiB", 2**28), ("1GiB", 2**30), ("4KiB", 4096)])
def test_a_size_is_read(text: str, size: int) -> None:
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["lots", "0MiB", "-1MiB", "256MB", "1.5GiB", "", "9" * 30 + "MiB"])
def test_what_is_no_size_is_said_so(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"e\.g\. 512MiB"):
        SIZE.convert(text, None, None)


@pytest.mark.parametrize(("text", "seconds"), [("200ms", 0.2), ("1.5s", 1.5), ("2m", 120), ("1h", 3600), ("0s", 0)])
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == seconds


@pytest.mark.parametrize(
    ("kind", "text", "remedy"),
    [
        (DURATION, "200", "use 200ms or 200s"),
        (DURATION, "0", "use 0ms or 0s"),
        (DURATION, "169h", "use at most 168h"),
        (SIZE, "256", "use 256MiB or 256GiB"),
        (SIZE, "1025GiB", "use at most 1024GiB"),
    ],
)
def test_no_unit_is_guessed_and_no_value_is_too_large_for_a_machine(
    kind: click.ParamType[Any], text: str, remedy: str
) -> None:
    with pytest.raises(click.BadParameter, match=remedy):
        kind.convert(text, None, None)


@pytest.mark.parametrize("text", ["ten", "1.5", "", "0", "11", "-1", "9" * 5_000, "nan"])
def test_a_number_outside_its_bounds_is_answered_with_them(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a whole number from 1 to 10"):
        whole(1, 10).convert(text, None, None)


@pytest.mark.parametrize("text", ["half", "1.01", "nan", "-0.1", "inf"])
def test_a_share_outside_its_bounds_is_answered_with_them(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a number from 0 to 1"):
        real(0, 1).convert(text, None, None)


@pytest.mark.parametrize("text", ["127.0.0.1:0", "localhost:65535", "[::1]:50051", "sandbox.example-1:1"])
def test_an_address_is_taken_as_it_is(text: str) -> None:
    assert ADDRESS.convert(text, None, None) == text


@pytest.mark.parametrize("text", ["", "localhost", ":1", "127.0.0.1:65536", "127.0.0.1:http", "::1", "a b:1", "h:-1"])
def test_what_is_no_address_is_said_so(text: str) -> None:
    with pytest.raises(click.BadParameter, match="use HOST:PORT"):
        ADDRESS.convert(text, None, None)


@each_case
def test_a_variable_with_an_impossible_value_is_named(variable: str, value: str, complaint: str) -> None:
    result = CliRunner().invoke(commands, ["service", "curriculum", "--kafka", "k:1"], env={variable: value})
    assert result.exit_code == 2
    assert complaint in result.output


@pytest.mark.parametrize("command", ["import", "dedupe", "verify", "sample", "rate", "generate"])
@pytest.mark.parametrize("name", ["mine.csv", "mine.PARQUET", "mine.v2"])
def test_a_problem_file_is_written_only_under_a_name_by_which_it_is_read(
    tmp_path: Path, command: str, name: str
) -> None:
    out = tmp_path / name
    refused = CliRunner().invoke(commands, ["problems", command, "--out", str(out)])
    assert refused.exit_code == 2
    assert f"{out} would not be read as a problem file: use the suffix .jsonl" in refused.stderr
    out.touch()
    with pytest.raises(UnreadableSource, match="is not JSONL"):
        read_problems(out)
