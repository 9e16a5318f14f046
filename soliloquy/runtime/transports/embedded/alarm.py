"""Wakes a thread for a request of this process, and when any process writes a file."""

import ctypes
import os
import select
from pathlib import Path

_IN_MODIFY = 0x2
_MOST_BYTES = 4096


class Alarm:
    def __init__(self) -> None:
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._writes = -1
        # Whether writes wake anybody: a user has a limited number of inotify instances.
        self.watches = False

    def watch(self, path: Path) -> None:
        libc = ctypes.CDLL(None)
        self._writes = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.watches = libc.inotify_add_watch(self._writes, os.fsencode(path), _IN_MODIFY) >= 0

    def ring(self) -> None:
        os.eventfd_write(self._bell, 1)

    def wait(self, seconds: float, *, for_writes: bool) -> bool:
        """Returns after the seconds, when the bell rings, or at a write since `forget`; whether it was for a write."""
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        if for_writes and self.watches:
            poll.register(self._writes, select.POLLIN)
        ready = [end for end, _ in poll.poll(1000 * seconds)]
        if self._bell in ready:
            os.eventfd_read(self._bell)
        return self._writes in ready

    def forget(self) -> None:
        """Forgets the writes so far."""
        if self.watches:
            try:
                while os.read(self._writes, _MOST_BYTES):
                    pass
            except BlockingIOError:
                return

    def close(self) -> None:
        for end in (self._bell, self._writes):
            if end >= 0:
                os.close(end)
        # A later ring or wait must not reach another file.
        self._bell = self._writes = -1
