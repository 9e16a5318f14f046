"""Checks that commands need no more than what is installed, and name the extra that is missing."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from soliloquy.runtime.extensions import EXTRAS
from tests.cases import each_case
from tests.integration.executor.support import needs_runsc

# A process in which the HIDDEN libraries are not installed.
_BARE = """
import sys
from importlib.abc import MetaPathFinder

class Hides(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hides())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.partition(".")[0] in HIDDEN else found(name, *rest)
"""
_EVERY_HELP = """
import click
from soliloquy.cli.main import commands

def pages(command, name, parent=None):
    with click.Context(command, info_name=name, parent=parent) as context:
        yield context.command_path, context.get_help()
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                yield from pages(command.get_command(context, each), each, context)

for path, page in pages(commands, "soliloquy"):
    assert page.startswith("Usage:"), path
    print(path)
"""
_MAIN = "from soliloquy.cli.main import main; main()"


def bare(code: str, *arguments: object, kept: Sequence[str] = ("run", "otlp")) -> subprocess.CompletedProcess[str]:
    """Runs code where no extra is installed but those that are kept."""
    hidden = [library for extra, libraries in EXTRAS.items() if extra not in kept for library in libraries]
    command = [sys.executable, "-c", f"HIDDEN = {hidden}\n{_BARE}{code}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_help_of_every_command_needs_no_extra() -> None:
    done = bare(_EVERY_HELP)
    assert done.returncode == 0, done.stderr
    assert {"soliloquy freeze", "soliloquy adapters list", "soliloquy retrain"} <= set(done.stdout.splitlines())


@each_case
def test_a_command_without_its_extra_says_in_one_line_how_to_install_it(tmp_path: Path, usage: str, extra: str) -> None:
    done = bare(_MAIN, *usage.format(tmp_path).split(), kept=() if extra == "run" else ("run", "otlp"))
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("soliloquy: ")
    assert line.endswith(f"pip install -e '.[{extra}]'")


@pytest.mark.parametrize(("usage", "status"), [("adapters list --registry {0}", 0), ("freeze --data {0} --out f", 2)])
def test_copies_and_lists_need_no_extra(tmp_path: Path, usage: str, status: int) -> None:
    done = bare(_MAIN, *usage.format(tmp_path).split())
    assert done.returncode == status, done.stderr
    assert "install" not in done.stderr


@needs_runsc
def test_the_demo_needs_no_extra_and_names_the_one_that_keeps_conversations() -> None:
    done = bare(_MAIN, "demo", kept=())
    assert done.returncode == 0, done.stderr
    assert "pip install -e '.[run]'" in done.stdout


@pytest.mark.parametrize("usage", ["recipes list", "problems check mine.jsonl", "init run.toml --problems mine.jsonl"])
def test_the_first_steps_towards_a_run_need_no_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usage: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text('{"question": "A van goes 30 km in 0.5 h. Speed?", "answer": "60 km/h"}\n', "utf-8")
    done = bare(_MAIN, *usage.split(), kept=())
    assert done.returncode == 0, done.stderr


def test_a_program_that_reads_a_dataset_without_its_extra_is_told_how_to_install_it() -> None:
    done = bare("from soliloquy.client import Runs, Dataset", kept=())
    assert done.stderr.splitlines()[-1].endswith("pyarrow is not installed: pip install -e '.[run]'")
