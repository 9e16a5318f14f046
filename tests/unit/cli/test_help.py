"""Checks how the help of the commands lists options."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from soliloquy.cli import command
from soliloquy.cli.main import commands

TOPICS = tomllib.loads(Path(command.__file__).with_name("topics.toml").read_text("utf-8"))
RARE = {flag for options in TOPICS.values() for flag, use in options.items() if use == "rare"}


def leaves(group: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    if not isinstance(group, click.Group):
        yield group, context
        return
    for name in group.list_commands(context):
        each = group.get_command(context, name)
        assert each
        yield from leaves(each, click.Context(each, info_name=name, parent=context))


def every_command() -> list[tuple[click.Command, click.Context]]:
    return list(leaves(commands, click.Context(commands, info_name="soliloquy")))


def listed(page: str) -> set[str]:
    return {flag for line in re.findall(r"^  (-.*?)(?:  |$)", page, re.M) for flag in re.findall(r"--[\w-]+", line)}


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_topics_name_options_that_exist() -> None:
    flags = {flag for each, context in every_command() for option in each.get_params(context) for flag in option.opts}
    assert {flag for options in TOPICS.values() for flag in options} <= flags


def test_rare_options_and_variables_are_listed_by_more_help_only() -> None:
    usual, every = shown("generate", "--help"), shown("generate", "--help-all")
    assert not listed(usual) & RARE
    assert {"--kafka-prefix", "--traces", "--work"} <= listed(every) & RARE
    assert "env var" not in usual
    assert "SOLILOQUY_NOISE" in every
    assert listed(usual) | RARE >= listed(every)
