"""Forks processes from a copy of this one: they start with its imports, and without its threads and files."""

import os
import signal
import socket
import struct
import sys
import traceback
from asyncio import Event, StreamReader, StreamWriter, get_running_loop, open_unix_connection
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from soliloquy.runtime.failure import Failure

_NUMBER = struct.Struct("i")


class Keeper:
    """Forks a process as often as asked, and tells how it ended. Closing the keeper does not end the process."""

    def __init__(self, name: str, target: Callable[[], int]) -> None:
        """`target` returns the exit status of each process.

        Has to be called before this process has threads, and outside of uvloop, which opens files anew in each copy.
        """
        self._name = name
        self._channel, theirs = socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            _keep(theirs, target)
        theirs.close()
        self._channel.setblocking(False)
        self._is_busy = False

    async def start(self) -> "KeptProcess":
        """Raises Failure if the keeper was killed."""
        # Input has a connection of its own: one that closes with input unread loses what it was sent before.
        pairs = [socket.socketpair() for _ in range(3)]
        try:
            socket.send_fds(self._channel, [b"s"], [theirs.fileno() for _, theirs in pairs])
        except OSError as error:
            raise Failure(f"the process that starts {self._name} was killed: run the same command again") from error
        for _, theirs in pairs:
            theirs.close()
        self._is_busy = True
        pid = await self._number()
        (_, stdin), (stdout, _), (stderr, _) = opened = [await open_unix_connection(sock=ours) for ours, _ in pairs]
        closes = [writer for _, writer in opened]
        return KeptProcess(pid=pid, stdin=stdin, stdout=stdout, stderr=stderr, closes=closes)

    async def end_of(self, process: "KeptProcess") -> None:
        """Waits for the end of the process, and sets its status."""
        process.returncode = await self._number()
        self._is_busy = False
        process.ended.set()

    def close(self) -> None:
        self._channel.close()
        # The keeper of a process that goes on waits for its end.
        if not self._is_busy:
            os.waitpid(self._pid, 0)

    async def _number(self) -> int:
        """Returns what the keeper tells; the status of a killed process if it was killed itself."""
        told = await get_running_loop().sock_recv(self._channel, _NUMBER.size)
        return int(_NUMBER.unpack(told)[0]) if told else -signal.SIGKILL


@dataclass(kw_only=True, slots=True)
class KeptProcess:
    pid: int
    stdin: StreamWriter
    stdout: StreamReader
    stderr: StreamReader
    closes: Sequence[StreamWriter]
    # As `subprocess` has it; None while the process runs.
    returncode: int | None = None
    ended: Event = field(default_factory=Event)

    def kill(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def close(self) -> None:
        """Hangs up, which ends the process."""
        for each in self.closes:
            each.close()


def _keep(channel: socket.socket, target: Callable[[], int]) -> NoReturn:
    """Forks a process for each request, until the other end of the channel closes."""
    try:
        # The terminal sends these to every process; the supervisor decides what follows.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for target_end, end in enumerate((nowhere, nowhere, nowhere, channel.fileno())):
            os.dup2(end, target_end)
        _close_from(4)
        ours = socket.socket(fileno=3)
        while (request := socket.recv_fds(ours, 1, 3))[0]:
            if not (pid := os.fork()):
                _serve(request[1], target)
            for end in request[1]:
                os.close(end)
            ours.send(_NUMBER.pack(pid))
            ours.send(_NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    finally:
        os._exit(0)


def _serve(ends: list[int], target: Callable[[], int]) -> NoReturn:
    status = 1
    try:
        for number, end in enumerate(ends):
            os.dup2(end, number)
        _close_from(3)
        sys.stdin, sys.stdout, sys.stderr = map(open, range(3), "rww")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        status = target()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _close_from(first: int) -> None:
    for link in [*Path("/proc/self/fd").iterdir()]:
        if (number := int(link.name)) >= first:
            # The descriptor of the listing itself is gone.
            with suppress(OSError):
                os.close(number)
