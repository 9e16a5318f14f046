"""The bytes between host and zygote: length-prefixed frames, and the header of a report."""

import os
import struct

LENGTH = struct.Struct(">I")
# How the job ended, its exit code, the signal that killed it, whether the sandbox is spent, seconds, bytes of
# stdout. The stdout and the job's own result follow.
REPORT = struct.Struct(">BiiBdI")
ENDED, TIMED_OUT, FLOODED = range(3)
READY = b"ready"

_CHUNK = 65_536


def frame(payload: bytes) -> bytes:
    return LENGTH.pack(len(payload)) + payload


def read_frame(end: int) -> bytes | None:
    """None where the other end is closed."""
    head = read(end, LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    size = LENGTH.unpack(head)[0]
    payload = read(end, size)
    return payload if len(payload) == size else None


def read(end: int, size: int) -> bytes:
    """Less than `size` where the other end is closed before."""
    data = bytearray()
    while len(data) < size and (chunk := os.read(end, min(size - len(data), _CHUNK))):
        data += chunk
    return bytes(data)


def write(end: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(end, view) :]
