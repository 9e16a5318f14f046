"""The locks name every dependency with its hashes and no host, and each dependency has a reason."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from soliloquy.runtime.extensions import EXTRAS

ROOT = Path(__file__).parents[2]
LOCKS = sorted([*ROOT.glob("requirements*.lock"), *ROOT.glob("deploy/images/*.lock")])
UV = Path(sys.executable).with_name("uv")
# A release that its authors withdrew, and nobody will bring back.
WITHDRAWN = "attrs==21.1.0"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NAME = re.compile(r"[\w.-]+")
# A package, its version and perhaps a marker, then a hash on each of the following lines.
ENTRY = re.compile(r"[a-z0-9.-]+==[\w.!+-]+( ; [^\\]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+")


def name_of(requirement: str) -> str:
    matched = NAME.match(requirement)
    assert matched
    return matched[0].lower().replace("_", "-").replace(".", "-")


def locked(lock: Path) -> set[str]:
    return {name_of(line) for line in lock.read_text("utf-8").splitlines() if re.match(r"[a-z0-9]", line)}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_packages_and_hashes_and_nothing_else(lock: Path) -> None:
    assert ENTRY.sub("", lock.read_text("utf-8")) == ""


def withdrawn(tmp_path: Path, *requirements: str) -> list[str]:
    """Returns what the index says of releases among these that their authors withdrew."""
    options = ("--dry-run", "--no-deps", "--target", str(tmp_path / "none"), "--color", "never")
    target = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
    command = [str(UV), "pip", "install", "--python", sys.executable, *options, *target, *requirements]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert asked.returncode == 0, asked.stderr
    return [line for line in asked.stderr.splitlines() if "is yanked" in line]


@pytest.fixture(scope="module")
def _index(tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        tells = bool(withdrawn(tmp_path_factory.mktemp("index"), WITHDRAWN))
    except (OSError, AssertionError, subprocess.TimeoutExpired):
        tells = False
    if not tells and os.environ.get("CI") != "true":
        pytest.skip("uv or its index does not tell which releases were withdrawn")
    assert tells


@pytest.mark.usefixtures("_index")
@pytest.mark.parametrize("lock", [*LOCKS, *ROOT.glob("tests/servers/*.lock")], ids=lambda lock: lock.name)
def test_no_locked_release_was_withdrawn_by_its_authors(tmp_path: Path, lock: Path) -> None:
    assert withdrawn(tmp_path, "--require-hashes", "-r", str(lock)) == []


def test_every_dependency_is_locked() -> None:
    assert {name_of(each) for each in PROJECT["dependencies"]} <= locked(ROOT / "requirements.lock")
    extras = PROJECT["optional-dependencies"]
    for lock, chosen in {
        "requirements-dev.lock": ("dev",),
        "requirements-serve.lock": ("dev", "serve", "train", "trl"),
    }.items():
        wanted = {name_of(each) for extra in chosen for each in extras[extra]} - {PROJECT["name"]}
        assert wanted <= locked(ROOT / lock), lock


def test_a_missing_library_of_the_extra_run_is_known_as_its_own() -> None:
    owners = packages_distributions()
    known = {name_of(owner) for library in EXTRAS["run"] for owner in owners[library]}
    assert {name_of(each) for each in PROJECT["optional-dependencies"]["run"]} <= known


def test_every_dependency_has_a_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.scripts]")[0].splitlines()
    without = [line for line in lines if re.match(r'  "[\w-]+[\[>;]', line) and "# " not in line]
    assert without == []
