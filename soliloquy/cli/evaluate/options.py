"""Options that all evaluations share: the tutor, the questions, and the report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from soliloquy.cli.model_options import model_options
from soliloquy.cli.options import AS_JSON, EXISTING_FOLDER, NEW_FOLDER, NOISE, QUIET, SEED, count_option
from soliloquy.cli.service_options import with_options

Command = TypeVar("Command", bound=Callable[..., Any])

_QUESTIONS = (
    SEED,
    click.option(
        "--trained",
        "datasets",
        multiple=True,
        metavar="DIR",
        type=EXISTING_FOLDER,
        help="Leave out the questions of this dataset, on which the model was trained; may be repeated.",
    ),
    count_option("--in-flight", 16, "Cases to run at once."),
)
_TUTOR = (
    click.option(
        "--weights",
        metavar="DIR",
        type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
        help="Evaluate these weights in this process instead of a --model.",
    ),
    click.option(
        "--adapter",
        metavar="NAME|DIR",
        help="The tutor's adapter: its name at the endpoint, or a folder with --weights.",
    ),
    click.option("--free", is_flag=True, help="Do not constrain the answers of --weights to their schema."),
    click.option(
        "--max-tokens", type=click.IntRange(min=1), help="Maximum tokens of an answer, if lower than in the settings."
    ),
    NOISE,
)
_REPORT = (
    click.option("--name", metavar="NAME", help="The name in the report.  [default: names of model and adapter]"),
    click.option("--out", required=True, type=NEW_FOLDER, help="The folder for the report."),
    AS_JSON,
    QUIET,
)


def problems_option(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--problems", default=default, show_default=True, metavar="BANK|FILE", help="The source of the problems."
    )


def question_options(command: Command) -> Callable[..., Any]:
    """Passes `seed`, `datasets` and `in_flight` to the command."""
    return with_options(_QUESTIONS)(command)


def tutor_options(command: Command) -> Callable[..., Any]:
    """Passes `model_cache` and the arguments of `chosen_tutor` to the command."""
    return with_options(_TUTOR)(model_options(command))


def report_options(command: Command) -> Callable[..., Any]:
    """Passes `name`, `out`, `as_json` and `quiet` to the command."""
    return with_options(_REPORT)(command)
