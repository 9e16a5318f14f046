"""Runs a real Prometheus, for tests of what operators see."""

import os
import shutil

import pytest

# In CI a missing Prometheus is a failure, not a reason to skip.
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None and os.environ.get("CI") != "true",
    reason="prometheus is missing: apt-get install prometheus",
)
