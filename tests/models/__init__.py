"""Makes small models with random weights, for tests that need real tokens, batches, adapters and grammars."""

import importlib.util
import os

import pytest


def _needs(library: str, extra: str) -> pytest.MarkDecorator:
    """In CI a missing library is a failure, not a reason to skip."""
    is_missing = importlib.util.find_spec(library) is None and os.environ.get("CI") != "true"
    return pytest.mark.skipif(is_missing, reason=f"{library} is missing: pip install 'soliloquy-tutor[{extra}]'")


needs_torch, needs_ray = _needs("torch", "serve"), _needs("ray", "curate")
