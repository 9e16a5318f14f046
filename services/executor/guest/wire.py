"""The protocol between host and guest: length-prefixed frames, and the headers of jobs and reports."""

import os
import struct

LENGTH = struct.Struct(">I")
# The job's number and its limits of wall seconds, memory and stdout. Code and names follow as JSON.
JOB = struct.Struct(">QdQI")
# The job's number, how it ended, exit code, killing signal, whether the sandbox is spent, seconds, and the size of
# stdout. The stdout and the job's own result follow.
REPORT = struct.Struct(">QBii?dI")
ENDED, TIMED_OUT, FLOODED, REFUSED, DIED = range(5)

READY = b"ready"
# Sent instead of a job: a vetted worker reads all jobs after it.
VET = b"vet"

_CHUNK = 65_536


def frame(payload: bytes) -> bytes:
    return LENGTH.pack(len(payload)) + payload


def read_frame(end: int) -> bytes | None:
    """Returns None if the other end is closed."""
    head = read(end, LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    size = LENGTH.unpack(head)[0]
    payload = read(end, size)
    return payload if len(payload) == size else None


def read(end: int, size: int) -> bytes:
    """Returns less than `size` bytes if the other end closes early."""
    data = bytearray()
    while len(data) < size and (chunk := os.read(end, min(size - len(data), _CHUNK))):
        data += chunk
    return bytes(data)


def write(end: int, *parts: bytes | memoryview) -> None:
    left = [memoryview(part) for part in parts if part]
    while left:
        written = os.writev(end, left)
        while left and written >= len(left[0]):
            written -= len(left.pop(0))
        if written:
            left[0] = left[0][written:]
