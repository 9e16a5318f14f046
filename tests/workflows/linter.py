"""Builds actionlint with Go, once."""

import os
import shutil
import subprocess
from pathlib import Path

from tests import cache

_HERE = Path(__file__).parent


class LinterUnavailable(Exception):
    """The workflows cannot be checked on this machine."""


def program() -> Path:
    folder = cache.place("actionlint", _HERE / "go.mod")
    if (failure := cache.failure(folder, _build)) is not None:
        raise LinterUnavailable(failure)
    return folder / "actionlint"


def _build(folder: Path) -> str | None:
    go = shutil.which("go")
    if go is None:
        return "go is missing: install Go 1.26 or later, which builds actionlint"
    command = [go, "build", "-trimpath", "-o", str(folder / "actionlint"), "github.com/rhysd/actionlint/cmd/actionlint"]
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    done = subprocess.run(command, cwd=_HERE, env=environment, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"go could not build actionlint: {done.stderr.strip()[-500:]}"
