"""Checks that commands need no more than what is installed, and name the extra that is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import each_case

# A process in which the libraries of the extras are not installed.
_BARE = """
import sys
from importlib.abc import MetaPathFinder

HIDDEN = {"fastapi", "llguidance", "matplotlib", "peft", "ray", "s3fs", "safetensors", "sklearn", "tensorboard",
          "textstat", "torch", "transformers", "vllm", "yaml"}

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


def bare(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _BARE + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_help_of_every_command_needs_no_extra() -> None:
    done = bare(_EVERY_HELP)
    assert done.returncode == 0, done.stderr
    assert {"soliloquy freeze", "soliloquy adapters list", "soliloquy retrain"} <= set(done.stdout.splitlines())


@each_case
def test_a_command_without_its_extra_says_in_one_line_how_to_install_it(tmp_path: Path, usage: str, extra: str) -> None:
    done = bare(_MAIN, *usage.format(tmp_path).split())
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("soliloquy: ")
    assert line.endswith(f"pip install -e '.[{extra}]'")


@pytest.mark.parametrize(("usage", "status"), [("adapters list --registry {0}", 0), ("freeze --data {0} --out f", 2)])
def test_copies_and_lists_need_no_extra(tmp_path: Path, usage: str, status: int) -> None:
    done = bare(_MAIN, *usage.format(tmp_path).split())
    assert done.returncode == status, done.stderr
    assert "install" not in done.stderr
