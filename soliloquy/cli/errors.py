"""Reports errors of files as one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soliloquy.runtime.failure import Failure


@contextmanager
def writing_to(out: Path | str) -> Iterator[None]:
    """Turns an OSError into a Failure that names the file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise Failure(f"{error.filename or out} cannot be written ({error.strerror}): choose another --out") from error
