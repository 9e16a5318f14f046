"""Reads files, and refuses pipes, devices, sockets and folders in their place: they may never send, or never end."""

import errno
import io
import json
import stat
from pathlib import Path
from typing import Any

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
