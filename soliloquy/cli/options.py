"""Options that many commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.parameters import whole

Command = Callable[..., Any]


class NewFile(click.Path):
    """A file to write; never one that is there, unless a command knows it for its own."""

    def is_ours(self, path: Path) -> bool:
        return False

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if path.exists() and not self.is_ours(path):
            self.fail(f"{path} exists: choose another file", param, ctx)
        return path


class NewProblemFile(NewFile):
    """A problem file to write, under a name by which it is read again."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        # Imported here: most commands have no problem file.
        from soliloquy.problems.files.problem_file import SUFFIXES

        path = super().convert(value, param, ctx)
        if path.suffix.lower() not in SUFFIXES:
            self.fail(f"{path} would not be read as a problem file: use the suffix .jsonl", param, ctx)
        return path


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
QUIET = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
# The contract holds 64 bits.
SEEDS = whole(0, 2**64 - 1)
SEED = click.option("--seed", default=0, show_default=True, type=SEEDS, help="Seed of all random draws.")
# Larger numbers are slips of the keyboard: some would start more than a machine can run.
MOST = 1_000_000_000
COUNT = whole(1, MOST)
WORKERS = 256
IN_FLIGHT = 100_000
ATTEMPTS = 100_000
TURNS = 1_000
WAIT = click.option(
    "--wait", is_flag=True, help="Wait for a model that does not answer, instead of stopping after a minute."
)
EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
EXISTING_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
NEW_FILE = NewFile(path_type=Path, dir_okay=False)
NEW_PROBLEM_FILE = NewProblemFile(path_type=Path, dir_okay=False)
NEW_FOLDER = click.Path(path_type=Path, file_okay=False)


def count_option(flag: str, default: int, text: str, *, most: int = MOST) -> Callable[[Command], Command]:
    """Returns an option whose value is at least one."""
    return click.option(flag, default=default, show_default=True, type=whole(1, most), help=text)


PROBLEM_FILE_OUT = click.option("--out", required=True, type=NEW_PROBLEM_FILE, help="The problem file to write.")
