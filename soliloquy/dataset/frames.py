"""An append-only file of checksummed frames: a flushed frame survives any crash."""

import asyncio
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from soliloquy.runtime.files import require_regular

# The payload's length, and a checksum of length and payload.
_HEAD = struct.Struct("<II")
# Ten times the longest event: a head that claims more is damaged.
_LONGEST = 4 * 1024 * 1024


class DamagedFrames(OSError):
    """A frame differs from what was written; the message names the file and the offset."""


class Frames:
    """One process appends; a frame counts once it is on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unbuffered, so that a failed write leaves no bytes behind for the next write to append.
        self._file = path.open("a+b", buffering=0)
        self._flushed = 0
        self._flushing: asyncio.Task[None] | None = None
        self.size = 0

    def close(self) -> None:
        self._file.close()

    def recover(self) -> Iterator[tuple[int, bytes]]:
        """Yields the offset and payload of each frame of an earlier start, then cuts off an incomplete last frame."""
        end = 0
        try:
            for start, payload in _frames(self.path):
                end = start + _HEAD.size + len(payload)
                yield start, payload
        except DamagedFrames:
            self.close()
            raise
        self._file.truncate(end)
        self.size = end

    async def append(self, payload: bytes) -> int:
        """Returns the offset of the frame once it is on the disk."""
        start = self.size
        frame = _HEAD.pack(len(payload), _checksum(payload)) + payload
        try:
            written = 0
            while written < len(frame):
                written += self._file.write(frame[written:])
        except OSError as error:
            self._file.truncate(start)
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        self.size += len(frame)
        await self._wait_for_disk(self.size)
        return start

    def payload(self, start: int) -> bytes:
        head = os.pread(self._file.fileno(), _HEAD.size, start)
        length, checksum = _HEAD.unpack(head)
        payload = os.pread(self._file.fileno(), length, start + _HEAD.size)
        if _checksum(payload) != checksum:
            raise DamagedFrames(f"{self.path} is damaged at byte {start}")
        return payload

    async def _wait_for_disk(self, end: int) -> None:
        """Waits for a flush. Callers that arrive during one flush share the next."""
        while self._flushed < end:
            if self._flushing is None:
                self._flushing = asyncio.create_task(self._flush())
            await asyncio.shield(self._flushing)

    async def _flush(self) -> None:
        size = self.size
        try:
            await asyncio.to_thread(os.fsync, self._file.fileno())
            self._flushed = size
        finally:
            self._flushing = None


def read_payloads(path: Path) -> Iterator[bytes]:
    """Yields the payloads of a file to which another process may be appending."""
    for _, payload in _frames(path):
        yield payload


def _frames(path: Path) -> Iterator[tuple[int, bytes]]:
    start = 0
    require_regular(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, checksum = _HEAD.unpack(head)
            payload = file.read(min(length, _LONGEST))
            end = start + _HEAD.size + length
            if len(payload) == length and _checksum(payload) == checksum:
                yield start, payload
            elif end < size or length > _LONGEST:
                raise DamagedFrames(f"{path} is damaged at byte {start}")
            else:
                return
            start = end


def _checksum(payload: bytes) -> int:
    # Seeded with the length, so that a run of zeros on the disk is no valid frame.
    return zlib.crc32(payload, len(payload) ^ 0xFFFFFFFF)
