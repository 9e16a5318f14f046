"""Refuses pipes, devices, sockets and folders where a file is read: they may never send, or never end."""

import errno
import stat
from pathlib import Path


class NotRegular(OSError):
    """The place holds no regular file; `strerror` says what it holds."""


def require_regular(path: Path) -> None:
    """Raises NotRegular for anything else that is there, and OSError if nothing is; follows links."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise NotRegular(errno.EINVAL, f"it is {kind}: save its content as a file", str(path))
