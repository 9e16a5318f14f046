"""Reads files of settings into models of pydantic's, with one line for what is wrong, and again when they change."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.files import read_regular_text

Model = TypeVar("Model", bound=BaseModel)
Content = TypeVar("Content")
# How soon a change of a watched file takes effect.
CHECK_SECONDS = 1.0

_log = logging.getLogger(__name__)


class WatchedFile(Generic[Content]):
    """Reads its file again when it changes; one that cannot be read leaves what was read before in force."""

    def __init__(
        self, file: Path, read: Callable[[Path], Content], what: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`read` raises Failure for a file that is of no use; `what` names its content in the log."""
        self._file = file
        self._what = what
        self._read = read
        self._clock = clock
        self._checked = clock()
        self._version = _version_of(file)
        self._content = read(file)

    @property
    def current(self) -> Content:
        now = self._clock()
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            if (version := _version_of(self._file)) != self._version:
                self._version = version
                try:
                    self._content = self._read(self._file)
                    _log.info("%s: read the %s again", self._file, self._what)
                except Failure as error:
                    _log.error("%s: the previous %s stay in force", error, self._what)
        return self._content


def _version_of(file: Path) -> tuple[int, ...]:
    """Changes whenever the file does, without reading it."""
    try:
        status = file.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_model(path: Path, parse: Callable[[str], Any], model: type[Model], *, context: Any = None) -> Model:
    """Reads and validates a file; raises Failure with its first problem."""
    try:
        return model.model_validate(parse(read_regular_text(path)) or {}, context=context)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"]) or "the file"
        told = f"{problem['msg']}, not {problem['input']!r}"
        # Our own messages name what they reject.
        own = problem.get("ctx", {}).get("error")
        raise Failure(f"{path}: {field}: {own or told}") from error
    except RecursionError as error:
        raise Failure(f"cannot read {path}: its brackets are too deep") from error
    except (OSError, ValueError) as error:
        raise Failure(f"cannot read {path}: {one_line(error)}") from error
