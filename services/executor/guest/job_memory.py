"""The zygote's memory for the job in hand, which no forked child gets: a job can read all memory of its process."""

import ctypes
import mmap
import os
import struct

from . import wire

# Pipes are read in chunks of this size, so an area needs this much more than its limit.
CHUNK = 65_536
_LISTING_BYTES = 65_536
# The kernel's linux_dirent64: inode, offset, length, type; the name follows.
_ENTRY = struct.Struct("=QQHB")
_FOLDER = 4
_DOTS = (b".\0", b"..\0")


class JobMemory:
    def __init__(self, *, job_bytes: int, stdout_bytes: int, result_bytes: int) -> None:
        sizes = (job_bytes, stdout_bytes + CHUNK, result_bytes + CHUNK, _LISTING_BYTES)
        memory = mmap.mmap(-1, sum(sizes))
        memory.madvise(mmap.MADV_DONTFORK)
        left = memoryview(memory)
        areas = []
        for size in sizes:
            areas.append(left[:size])
            left = left[size:]
        self._job, self.stdout, self.result, self._listing = areas
        self._listing_address = ctypes.addressof(ctypes.c_char.from_buffer(self._listing))
        self._libc = ctypes.CDLL(None)

    def read_frame(self, end: int) -> memoryview | None:
        """Returns None if the other end is closed or sends more than a job can hold."""
        head = wire.read(end, wire.LENGTH.size)
        size = wire.LENGTH.unpack(head)[0] if len(head) == wire.LENGTH.size else 0
        if not 0 < size <= len(self._job):
            return None
        taken = 0
        while taken < size and (got := os.readv(end, [self._job[taken:size]])):
            taken += got
        return self._job[:size] if taken == size else None

    def empty(self, folder: str, limit: int) -> bool:
        """Removes the files in the folder; returns false if there are too many, or a folder, or a call fails."""
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            size = self._libc.getdents64(opened, ctypes.c_void_p(self._listing_address), _LISTING_BYTES)
            names = self._names(size) if size >= 0 else None
            if names is None or len(names) > limit:
                return False
            return all(self._libc.unlinkat(opened, ctypes.c_void_p(name), 0) == 0 for name in names)
        finally:
            os.close(opened)

    def _names(self, size: int) -> list[int] | None:
        """Returns the addresses of the listed files' names; None if one of them is a folder."""
        names, at = [], 0
        while at < size:
            _, _, length, kind = _ENTRY.unpack_from(self._listing, at)
            name = at + _ENTRY.size
            if not any(self._listing[name : name + len(dots)] == dots for dots in _DOTS):
                if kind == _FOLDER:
                    return None
                names.append(self._listing_address + name)
            at += length
        return names
