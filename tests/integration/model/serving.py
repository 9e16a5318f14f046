"""Runs the model service as a process, with clients, and watches its replicas."""

import asyncio
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from benchmarks.model_load import caller, channel
from benchmarks.processes import family, replicas, stats
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message
from soliloquy.v1.model_pb2_grpc import ModelServiceStub
from tests.chaos.kafka.installation import free_ports
from tests.waiting import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from soliloquy.v1.model_pb2_grpc import ModelServiceAsyncStub


def free_port() -> int:
    # Not of those that the kernel gives to outgoing connections: Ray opens many before its proxy takes this one.
    [port] = free_ports(1)
    return port


def request(
    text: str = "two words", *, adapter: str = "", request_id: str = "", conversation: str = ""
) -> GenerateRequest:
    message = Message(role="user", text=text)
    return GenerateRequest(messages=[message], adapter=adapter, id=request_id, draw_key=conversation)


class Service:
    """Runs two replicas of `tests.integration.model.server`."""

    def __init__(self, adapter: Path) -> None:
        self.grpc, self.http = free_ports(2)
        arguments = [str(self.grpc), str(self.http), str(adapter)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.model.server", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.complaints: list[str] = []
        outputs = ((self.process.stdout, self._lines.put), (self.process.stderr, self.complaints.append))
        self._readers = [threading.Thread(target=_read, args=output) for output in outputs]
        for reader in self._readers:
            reader.start()

    def line(self, seconds: float = 120.0) -> str:
        """Returns the next line that it prints."""
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"nothing said within {seconds} s; complaints: {self.complaints}") from None

    def tell(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def processes(self) -> set[int]:
        return family({self.process.pid}, stats())

    def replicas(self) -> set[int]:
        return replicas(self.process.pid)

    def end(self) -> None:
        """Ends the process in whatever state it is."""
        left = self.processes() - {self.process.pid}
        if self.process.poll() is None:
            self.tell(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        for pid in left & set(stats()):
            os.kill(pid, signal.SIGKILL)
        for reader in self._readers:
            reader.join()

    @asynccontextmanager
    async def client(self) -> AsyncIterator["ModelServiceAsyncStub"]:
        async with channel(self.grpc) as opened:
            yield ModelServiceStub(opened)

    async def get(self, method: str, path: str, content: Any = None) -> tuple[int, str]:
        return await asyncio.to_thread(self._get, method, path, content)

    def _get(self, method: str, path: str, content: Any) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, json.dumps(content) if content else None)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()


@dataclass(kw_only=True)
class Load:
    """Runs callers for as long as a block lasts, each of which sends its next request on every answer.

    They retry when no replica answers.
    """

    port: int
    # Makes the request of a caller, by the caller's number and that of the answers so far.
    make: Callable[[int, int], GenerateRequest]
    callers: int = 8
    # When each was asked for, by what, and what came.
    answers: list[tuple[float, GenerateRequest, Completion]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    async def __aenter__(self) -> "Load":
        self._over = False
        self._calling = [asyncio.create_task(self._call(number)) for number in range(self.callers)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over = True
        await asyncio.gather(*self._calling)

    async def more(self, answers: int = 50) -> None:
        """Returns after this many more answers."""
        wanted = len(self.answers) + answers
        await until(lambda: len(self.answers) + len(self.failures) >= wanted)

    async def digests(self, answers: int = 8) -> set[str]:
        """Returns the adapters that answered this many requests which were sent after the call."""
        begun = time.monotonic()

        def since() -> list[str]:
            return [answer.adapter_digest for asked, _, answer in self.answers if asked > begun]

        await until(lambda: len(since()) >= answers)
        return {*since()}

    async def _call(self, number: int) -> None:
        async with channel(self.port) as opened:
            call = caller(opened)
            while not self._over:
                asked, made = time.monotonic(), self.make(number, len(self.answers))
                try:
                    self.answers.append((asked, made, await call(made)))
                except grpc.aio.AioRpcError as error:
                    self.failures.append(f"{error.code()}: {error.details()}")


def _read(output: Any, keep: Callable[[str], None]) -> None:
    with output:
        for line in output:
            keep(line.strip())
