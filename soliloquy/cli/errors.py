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
        # A file is written beside its place first.
        failed = str(error.filename or out)
        place = out if Path(out).name in failed else failed
        raise Failure(f"{place} cannot be written ({error.strerror}): choose another --out") from error
