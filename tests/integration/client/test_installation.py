"""The wheel installs on every Python that it promises: a small base that plays, and `run` that generates."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from soliloquy.runtime.extensions import EXTRAS
from tests.integration.executor.support import needs_runsc

ROOT = Path(__file__).parents[3]
UV = str(Path(sys.executable).with_name("uv"))
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# With bytecode, as pip leaves it.
MOST_BYTES = 150 * 10**6
SECONDS = 600
# Imports every module, and prints each library that one lacks.
_LACKING = """
import importlib, pkgutil
lacking = set()
for root in ("soliloquy", "soliloquy_services", "soliloquy_papers", "soliloquy_training"):
    for module in pkgutil.walk_packages(importlib.import_module(root).__path__, f"{root}.", onerror=lambda _: None):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            lacking.add(error.name.partition(".")[0])
print(*lacking)
"""
_CLIENT = "from time import perf_counter as now; began = now(); import soliloquy.client; print(now() - began)"


def run(*command: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    # The checkout is on no path of what was installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, cwd="/", env=environment, timeout=SECONDS, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def interpreter(version: str) -> str:
    """Returns a Python of this version: one of pyenv's, or one on the path. Skips the test where there is none."""
    own = Path.home() / ".pyenv" / "versions"
    for python in (*map(str, sorted(own.glob(f"{version}.*/bin/python"))), f"python{version}"):
        find = [UV, "python", "find", "--no-python-downloads", python]
        found = subprocess.run(find, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    pytest.skip(f"Python {version} is missing: install it, or see what the workflow says of it")


def install(python: str, folder: Path, requirement: str, wheel: Path) -> Path:
    """Returns the folder of the commands of a fresh environment."""
    run(UV, "venv", "--quiet", "--python", python, folder)
    options = ("--quiet", "--compile-bytecode", "--find-links", wheel.parent)
    run(UV, "pip", "install", *options, "--python", folder / "bin" / "python", requirement)
    return folder / "bin"


pytestmark = [pytest.mark.thorough, pytest.mark.timeout(SECONDS)]


@needs_runsc
@pytest.mark.parametrize("version", VERSIONS)
def test_the_base_is_small_plays_the_demo_and_names_what_the_rest_requires(
    wheel: Path, tmp_path: Path, version: str
) -> None:
    programs = install(interpreter(version), tmp_path / "base", "soliloquy-tutor", wheel)
    assert sum(file.lstat().st_size for file in (tmp_path / "base").rglob("*")) <= MOST_BYTES
    assert float(run(programs / "python", "-c", _CLIENT).stdout) <= 0.15
    told = run(programs / "soliloquy", "demo").stdout
    assert "is_correct = False" in told
    assert "pip install 'soliloquy-tutor[run]'" in told
    generate = ("generate", "--problems", "physics", "--conversations", "2", "--out", tmp_path / "data")
    refused = run(programs / "soliloquy", *generate, status=2)
    assert refused.stderr == "soliloquy: pyarrow is not installed: pip install 'soliloquy-tutor[run]'\n"
    lacking = set(run(programs / "python", "-c", _LACKING).stdout.split())
    assert lacking <= {*(library for libraries in EXTRAS.values() for library in libraries), "jinja2", "packaging"}


@needs_runsc
@pytest.mark.parametrize("version", VERSIONS)
def test_run_generates_a_dataset_that_its_checks_accept(wheel: Path, tmp_path: Path, version: str) -> None:
    programs = install(interpreter(version), tmp_path / "run", "soliloquy-tutor[run]", wheel)
    run(programs / "soliloquy", "doctor")
    data = tmp_path / "data"
    run(programs / "soliloquy", "generate", "--problems", "physics", "--conversations", "2", "--out", data)
    for command in ("verify", "check", "show"):
        run(programs / "soliloquy", command, data)


@needs_runsc
def test_uvx_plays_the_demo_by_the_name_of_the_distribution(wheel: Path) -> None:
    command = (UV, "tool", "run", "--quiet", "--python", interpreter("3.11"), "--find-links", wheel.parent)
    assert "soliloquy init" in run(*command, "soliloquy-tutor", "demo").stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_all_extras_agree(wheel: Path, tmp_path: Path, version: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    wanted = f"soliloquy-tutor[{','.join(extras)}]"
    target = ("--python-version", version, "--python-platform", "x86_64-manylinux_2_28", "--target", tmp_path / "none")
    run(UV, "pip", "install", "--dry-run", *target, "--find-links", wheel.parent, wanted)
