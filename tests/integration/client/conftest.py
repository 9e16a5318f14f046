"""The wheel of this checkout."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BUILT_FROM = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "requirements.lock",
    "protos",
    "soliloquy",
    "papers",
    "services",
    "training",
    "deploy/helm",
    "examples/recipe",
)


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the build leaves nothing in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    leave_out = shutil.ignore_patterns("__pycache__", "*_pb2*")
    for name in BUILT_FROM:
        source, target = ROOT / name, folder / "checkout" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=leave_out)
        else:
            shutil.copy(source, target)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(folder / "checkout")], check=True)
    return next(folder.glob("*.whl"))
