"""Reports exceptions of the library as one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soliloquy.runtime.failure import Failure


@contextmanager
def reporting(*errors: type[Exception]) -> Iterator[None]:
    """Turns these exceptions into a Failure with the same message."""
    try:
        yield
    except errors as error:
        raise Failure(str(error)) from error


@contextmanager
def writing_to(out: Path | str) -> Iterator[None]:
    """Turns an OSError into a Failure that names the file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise Failure(f"{error.filename or out} cannot be written ({error.strerror}): choose another --out") from error
