"""Builds programs of Go modules, once for all checkouts."""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import cache

_BUILD_SECONDS = 1800.0


def program(source: str) -> str:
    """Returns the program of MODULE/PATH@VERSION; skips the test where it cannot be built."""
    folder = cache.home() / source.replace("/", "-")
    if (why := cache.failure(folder, _builder(source))) is not None:
        pytest.skip(why)
    return str(folder / source.partition("@")[0].rpartition("/")[2])


@functools.cache
def _builder(source: str) -> Callable[[Path], str | None]:
    """Returns the same one each time, by which a failure is remembered."""
    return functools.partial(_build, source)


def _build(source: str, folder: Path) -> str | None:
    if (go := shutil.which("go")) is None:
        return f"go is missing: install Go 1.26 or later, which builds {source}"
    environment = {**os.environ, "GOBIN": str(folder.absolute()), "CGO_ENABLED": "0"}
    built = subprocess.run(
        [go, "install", source], env=environment, capture_output=True, text=True, check=False, timeout=_BUILD_SECONDS
    )
    return None if built.returncode == 0 else f"go could not build {source}: {built.stderr.strip()[-500:]}"
