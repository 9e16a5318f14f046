"""Spark in an environment of its own, which `make .venv-spark/installed` makes, with Iceberg's jars."""

import os
import sys
from pathlib import Path

import pytest

from tests import cache, maven

POM = Path(__file__).with_name("pom.xml")
PYTHON = Path(__file__).parents[2] / ".venv-spark" / "bin" / "python"
# In CI a missing Spark is a failure, not a reason to skip.
needs_spark = pytest.mark.skipif(
    not PYTHON.exists() and os.environ.get("CI") != "true", reason="Spark is missing: make .venv-spark/installed"
)


def jars() -> list[Path]:
    """Returns Iceberg's jars, which Maven fetches once."""
    folder = cache.place("spark", POM)
    if (failure := cache.failure(folder, lambda partial: maven.jars(POM, partial))) is not None:
        sys.exit(f"no Spark: {failure}")
    return [*folder.glob("*.jar")]
