"""The options that every evaluation has: who is evaluated, what is put to it, and what becomes of the report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from soliloquy.cli.model_options import model_options

Command = TypeVar("Command", bound=Callable[..., Any])

_PUT = (
    click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it."),
    click.option(
        "--trained",
        "datasets",
        multiple=True,
        metavar="DIR",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        help="A dataset that the model has learned from: no question of it is put; may be given several times.",
    ),
    click.option("--in-flight", default=16, show_default=True, type=click.IntRange(min=1), help="Cases at once."),
)
_TUTOR = (
    click.option(
        "--weights",
        metavar="DIR",
        type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
        help="Run these in this process, instead of asking a --model.",
    ),
    click.option(
        "--adapter", metavar="NAME|DIR", help="Of the tutor: as the endpoint calls it, or on top of --weights."
    ),
    click.option("--free", is_flag=True, help="Do not hold the answers of --weights to their schema."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Of an answer, where the settings allow more."),
    click.option(
        "--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output."
    ),
)
_REPORT = (
    click.option("--name", metavar="NAME", help="Of the report; else the model's and the adapter's."),
    click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The report's folder."),
    click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else."),
    click.option("--quiet", is_flag=True, help="Print nothing but errors."),
)


def problems_option(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--problems", default=default, show_default=True, metavar="BANK|FILE", help="Where they are from."
    )


def put_options(command: Command) -> Command:
    """Hands the command `seed`, `datasets` and `in_flight`."""
    return _with(_PUT, command)


def tutor_options(command: Command) -> Callable[..., Any]:
    """Hands the command `model_cache` and what `chosen_tutor` makes a tutor of."""
    return _with(_TUTOR, model_options(command))


def report_options(command: Command) -> Command:
    """Hands the command `name`, `out`, `as_json` and `quiet`."""
    return _with(_REPORT, command)


def _with(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    for each in reversed(options):
        command = each(command)
    return command
