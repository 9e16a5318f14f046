"""Reads a file of settings into a model of pydantic's, with one line for what is wrong with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.files import read_regular_text

Model = TypeVar("Model", bound=BaseModel)


def file_version(file: Path) -> tuple[int, ...]:
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
