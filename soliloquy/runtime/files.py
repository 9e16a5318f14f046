"""Files that are read without surprise, written completely or not at all, and never laid over somebody's own."""

import errno
import io
import json
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from soliloquy.runtime.failure import Failure


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


# The largest file of settings, prompts, a key or a card.
MOST_BYTES = 4 * 1024**2


class NotRegular(OSError):
    """The place holds no regular file; `strerror` says what it holds."""


def require_regular(path: Path) -> None:
    """Raises NotRegular for anything else that is there, and OSError if nothing is; follows links."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise NotRegular(errno.EINVAL, f"it is {kind}: save its content as a file", str(path))


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Raises NotRegular, also for a file of more than `most_bytes`, and OSError if nothing is there."""
    require_regular(path)
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise NotRegular(errno.EFBIG, f"it has more than {most_bytes:,} bytes", str(path))
    return content


def read_regular_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Reads lines of any system, as Path.read_text does; raises UnicodeDecodeError besides."""
    return io.TextIOWrapper(io.BytesIO(read_regular(path)), encoding, errors).read()


def read_json(path: Path, most_bytes: int = MOST_BYTES) -> Any:
    """Raises OSError as `read_regular` does, and ValueError for what is no JSON."""
    return parsed_json(read_regular(path, most_bytes))


def parsed_json(content: bytes) -> Any:
    """Raises ValueError, also for brackets that are too deep."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("its brackets are too deep") from error


_FULL = (errno.ENOSPC, errno.EDQUOT)


def unwritable(place: object, error: OSError, otherwise: str, *, resumes: bool = False) -> Failure:
    """Returns the failure to write a place, with the advice to make room on a full disk, and else `otherwise`."""
    again = f"free some space and run the same command again{', which resumes' if resumes else ''}"
    return Failure(
        f"{place} cannot be written ({error.strerror or error}): {again if error.errno in _FULL else otherwise}"
    )


# A file system's own folder, and the lock that a command takes before it writes anything else.
_NOBODYS = {"lost+found", "lock"}


def refuse_foreign(folder: Path, *marks: str, option: str = "--out") -> None:
    """Raises Failure if a folder holds visible files, and none of the marks that our commands leave."""
    if not folder.is_dir() or any((folder / mark).exists() for mark in marks):
        return
    found = sorted(
        path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name not in _NOBODYS
    )
    if found:
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise Failure(f"{folder} is not empty: it holds {found[0]}{others}: choose another {option}")


def table_beside(module: str, name: str) -> dict[str, Any]:
    """Returns the content of a file in the folder of a module, which is given by its `__file__`."""
    return tomllib.loads(Path(module).with_name(name).read_text("utf-8"))
