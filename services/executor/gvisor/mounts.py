"""The mounts of this process."""

import ctypes
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
_DETACH = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    root: str
    point: Path
    kind: str
    options: frozenset[str]


def parse(mountinfo: str) -> Iterator[Mount]:
    for line in mountinfo.splitlines():
        front, _, back = line.partition(" - ")
        root, point = front.split(" ")[3:5]
        kind, _, options = back.split(" ")
        yield Mount(
            root=_unescaped(root), point=Path(_unescaped(point)), kind=kind, options=frozenset(options.split(","))
        )


def unmount_below(folder: Path) -> None:
    """Unmounts the innermost first; raises OSError if one fails."""
    inside = [mount.point for mount in parse(MOUNTINFO.read_text("utf-8")) if folder in mount.point.parents]
    for point in sorted(inside, reverse=True):
        if ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(point), _DETACH):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(point))


def _unescaped(name: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), name)
