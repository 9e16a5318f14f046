"""Makes small models with random weights, for tests that need real tokens, batches, adapters and grammars."""

import importlib.util
import os

import pytest

# In CI a missing torch is a failure, not a reason to skip.
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None and os.environ.get("CI") != "true",
    reason="torch is missing: pip install 'soliloquy[serve]'",
)
