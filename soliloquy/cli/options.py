"""Options that many commands share, and the kinds of files that they name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import setting
from soliloquy.cli.parameters import whole
from soliloquy.runtime.failure import Failure


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


class Folder(click.Path):
    def __init__(self, **how: Any) -> None:
        super().__init__(path_type=Path, file_okay=False, **how)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "DIR"


ANY_PATH = click.Path(path_type=Path)
EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
EXISTING_FOLDER, NEW_FOLDER = Folder(exists=True), Folder()
# For folders that other processes read, which may run elsewhere.
RESOLVED_FOLDER, NEW_RESOLVED_FOLDER = Folder(exists=True, resolve_path=True), Folder(resolve_path=True)
NEW_FILE = NewFile(path_type=Path, dir_okay=False)
NEW_PROBLEM_FILE = NewProblemFile(path_type=Path, dir_okay=False)
# The contract holds 64 bits.
SEEDS = whole(0, 2**64 - 1)
# Larger numbers are slips of the keyboard: some would start more than a machine can run.
MOST = 1_000_000_000
COUNT = whole(1, MOST)
WORKERS = 256
IN_FLIGHT = 100_000
ATTEMPTS = 100_000
TURNS = 1_000
AS_JSON = setting("Print JSON and nothing else.", "--json", "as_json", is_flag=True)
QUIET = setting("Print nothing but errors.", "--quiet", is_flag=True)
SEED = setting("Seed of all random draws.", "--seed", default=0, type=SEEDS)
WAIT = setting("Wait for a model that does not answer, instead of stopping after a minute.", "--wait", is_flag=True)
PROBLEM_FILE_OUT = setting("The problem file to write.", "--out", required=True, type=NEW_PROBLEM_FILE)


@contextmanager
def writing_to(out: Path | str, option: str = "--out") -> Iterator[None]:
    """Turns an OSError into a Failure that names the file that cannot be written."""
    try:
        yield
    except OSError as error:
        # A file is written beside its place first.
        failed = str(error.filename or out)
        place = out if Path(out).name in failed else failed
        raise Failure(f"{place} cannot be written ({error.strerror}): choose another {option}") from error
