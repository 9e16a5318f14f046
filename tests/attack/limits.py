"""Bounds the time of a command that runs in this process, and reads its memory."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class TooLong(BaseException):
    """Not an Exception, so that no command takes it for one of its own."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def memory(kind: str) -> int:
    """Returns the bytes that Linux calls VmRSS, now in use, or VmHWM, the most since `clear_refs`."""
    [line] = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith(f"{kind}:")]
    return int(line.split()[1]) * 1024
