"""Writes curves that TensorBoard reads.

Its own writer has a thread, whose errors are printed there and reach the training some steps later.
"""

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

VERSION = "brain.Event:2"


class WholeWrites:
    """A file without a buffer, so that closing it writes nothing that was refused before."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, content: bytes) -> None:
        while content:
            content = content[self._file.write(content) :]

    def close(self) -> None:
        self._file.close()


class Curves:
    def __init__(self, folder: Path, *, after: int) -> None:
        """Begins a file in the folder; what earlier files have of steps later than `after` is shown no more."""
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns():020}.{socket.gethostname()}.{os.getpid()}"
        self._file = WholeWrites(folder / name)
        self._records = RecordWriter(self._file)
        self._add(Event(file_version=VERSION))
        self._add(Event(step=after + 1, session_log=SessionLog(status=SessionLog.START)))

    def close(self) -> None:
        self._file.close()

    def add(self, step: int, values: Mapping[str, float]) -> None:
        points = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._add(Event(step=step, summary=Summary(value=points)))

    def _add(self, event: Event) -> None:
        event.wall_time = time.time()
        self._records.write(event.SerializeToString())
