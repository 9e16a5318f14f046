"""The stages that both small models share: commands that print their processor time, and a finished one is skipped."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")


def options(program: str, about: str | None, **numbers: tuple[int, str]) -> dict[str, Any]:
    """Reads the command line, which has a number by each of these names, with its default and its help."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.add_argument("--out", type=Path, required=True, help="folder for all results")
    for name, (default, text) in {**numbers, "seed": (0, "seed of all random draws")}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default, help=text)
    return vars(parser.parse_args())


def soliloquy(*arguments: str, ends: Collection[int] = (0,)) -> None:
    """Exits if the command exits with a status outside `ends`."""
    print(f"$ soliloquy {' '.join(arguments)}", flush=True)
    before = os.times()
    status = subprocess.run([*_SOLILOQUY, *arguments], check=False).returncode
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{spent:.0f} s of one processor", flush=True)
    if status not in ends:
        sys.exit(status)


def begin(folder: Path, data: Path, shape: dict[str, Any], *, seed: int) -> None:
    """Creates the untrained model, which knows the words of the data and of its recipe's prompts."""
    if (folder / "config.json").is_file():
        return
    # These imports take seconds.
    from benchmarks.small_model.base import make_base
    from soliloquy.dataset.reading import Dataset
    from soliloquy.recipes.packages import DEFAULT
    from soliloquy.recipes.packages import folder as recipe_folder
    from soliloquy_training.source import conversations

    recipe = Dataset(data).manifest["run"].get("recipe", DEFAULT)
    parameters = make_base(folder, conversations(str(data)), recipe_folder(recipe) / "prompts", shape, seed=seed)
    print(f"{folder}: {parameters:,} parameters with random values")


def train(name: str, config: Path, *, base: Path, data: Path, out: Path) -> None:
    if not (out / name / "report.json").is_file():
        where = ["--base", str(base), "--data", str(data), "--name", name, "--out", str(out)]
        soliloquy("train", "--config", str(config), *where)


def write_config(path: Path, settings: Mapping[str, Any], **chosen: int) -> Path:
    path.write_text(json.dumps({**settings, **chosen}), "utf-8")
    return path
