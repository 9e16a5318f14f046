"""Inspect, MLflow and Weights & Biases in an environment of their own, which `make .venv-tools/installed` makes."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

PYTHON = Path(__file__).parents[2] / ".venv-tools" / "bin" / "python"
# In CI a missing library is a failure, not a reason to skip.
needs_tools = pytest.mark.skipif(
    not PYTHON.exists() and os.environ.get("CI") != "true", reason="the tools are missing: make .venv-tools/installed"
)


def told(program: str, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Any:
    """Returns the JSON that a program prints last, run with these libraries."""
    command = [PYTHON, "-c", program, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
