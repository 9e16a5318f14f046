"""Keeps how long each part took, across the processes that carry them out."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

# Environment variable with the file.
PARTS = "SOLILOQUY_PARTS"


@contextlib.contextmanager
def timed(part: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    _file().write_text(json.dumps(took() | {part: time.monotonic() - started}), "utf-8")


def took() -> dict[str, float]:
    """Returns the seconds of each part, in order."""
    return dict(json.loads(_file().read_text("utf-8"))) if _file().exists() else {}


def table() -> str:
    rows = took() | {"all of it": sum(took().values())}
    return "\n".join(f"| {part} | {seconds:.0f} s |" for part, seconds in rows.items())


def _file() -> Path:
    return Path(os.environ[PARTS])
