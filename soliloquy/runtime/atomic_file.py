"""Files that are written completely or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Writes to a temporary file and renames it at the end; an exception leaves the previous file in place."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
