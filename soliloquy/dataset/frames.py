"""An append-only file of compressed and checksummed frames: a flushed frame survives any crash."""

import asyncio
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cramjam import DecompressionError, lz4

from soliloquy.runtime.files import require_regular

# The payload's length, and a checksum of length and payload.
_HEAD = struct.Struct("<II")
_SIZE = struct.Struct("<I")
# Set in the length of a compressed payload; earlier versions wrote others, and take such a head as damaged.
_COMPRESSED = 1 << 31
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
        """Yields the offset and message of each frame of an earlier start, then cuts off an incomplete last frame."""
        try:
            for start, end, message in _frames(self.path):
                self.size = end
                yield start, message
        except DamagedFrames:
            self.close()
            raise
        self._file.truncate(self.size)

    async def append(self, message: bytes) -> int:
        """Returns the offset of the frame once it is on the disk."""
        start, payload = self.size, bytes(lz4.compress_block(message))
        length = len(payload) | _COMPRESSED
        frame = _HEAD.pack(length, _checksum(payload, length)) + payload
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

    def message(self, start: int) -> bytes:
        length, checksum = _HEAD.unpack(os.pread(self._file.fileno(), _HEAD.size, start))
        payload = os.pread(self._file.fileno(), length & ~_COMPRESSED, start + _HEAD.size)
        if _checksum(payload, length) != checksum:
            raise DamagedFrames(f"{self.path} is damaged at byte {start}")
        return _message(self.path, payload, length)

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


def read_messages(path: Path) -> Iterator[bytes]:
    """Yields the messages of a file to which another process may be appending."""
    for _, _, message in _frames(path):
        yield message


def _frames(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yields each frame's start, end and message."""
    start = 0
    require_regular(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, checksum = _HEAD.unpack(head)
            stored = length & ~_COMPRESSED
            payload = file.read(min(stored, _LONGEST))
            end = start + _HEAD.size + stored
            if len(payload) == stored and _checksum(payload, length) == checksum:
                yield start, end, _message(path, payload, length)
            elif end < size or stored > _LONGEST:
                raise DamagedFrames(f"{path} is damaged at byte {start}")
            else:
                return
            start = end


def _message(path: Path, payload: bytes, length: int) -> bytes:
    if not length & _COMPRESSED:
        return payload
    with suppress(struct.error, DecompressionError):
        # A block begins with the size of its message.
        if _SIZE.unpack_from(payload)[0] <= _LONGEST:
            return bytes(lz4.decompress_block(payload))
    raise DamagedFrames(f"{path} holds a frame that was never written")


def _checksum(payload: bytes, length: int) -> int:
    # Seeded with the length, so that a run of zeros on the disk is no valid frame.
    return zlib.crc32(payload, length ^ 0xFFFFFFFF)
