"""`soliloquy model serve` with the small model, and callers that request an adapter all the time."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from benchmarks.model_load import Call, caller, channel
from benchmarks.processes import family, stats
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling
from tests.chaos.kafka.installation import free_ports
from tests.waiting import PATIENCE_SECONDS

_SHORT = Sampling(temperature=0.0, top_p=1.0, max_tokens=4)


@contextmanager
def served(
    base: Path, *, replicas: int, traces: str = "", engine: str = "transformers", environment: Mapping[str, str] = {}
) -> Iterator[tuple[int, int]]:
    """Yields its gRPC and HTTP ports; exports traces if a collector is named."""
    port, http = free_ports(2)
    command = ["-c", "from soliloquy.cli.main import main; main()", "model", "serve", "--engine", engine]
    command += ["--model", str(base), "--grpc", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http}"]
    process = subprocess.Popen(
        [
            sys.executable,
            *command,
            "--replicas",
            str(replicas),
            "--grace",
            "2s",
            *(["--traces", traces] if traces else []),
        ],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
            **environment,
        },
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving on")
        yield port, http
    finally:
        left = family({process.pid}, stats()) - {process.pid}
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
        for pid in left & set(stats()):
            os.kill(pid, signal.SIGKILL)


def short(adapter: str, text: str = "Why?") -> GenerateRequest:
    return GenerateRequest(messages=[Message(role="user", text=text)], adapter=adapter, sampling=_SHORT)


@dataclass(kw_only=True)
class Asking:
    """Runs several callers while a block lasts, each sending its next request on every answer."""

    port: int
    adapter: str
    callers: int = 4
    answers: list[tuple[float, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    async def __aenter__(self) -> "Asking":
        self._over = False
        self._tasks = [asyncio.create_task(self._ask(number)) for number in range(self.callers)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over = True
        await asyncio.gather(*self._tasks)

    async def more(self, answers: int = 8) -> list[str]:
        """Returns the digests of this many answers to requests that start after the call."""
        begun = time.monotonic()
        while len(digests := [digest for asked, digest in self.answers if asked > begun]) < answers:
            assert time.monotonic() < begun + PATIENCE_SECONDS, self.failures
            await asyncio.sleep(0.02)
        return digests

    async def _ask(self, number: int) -> None:
        async with channel(self.port) as opened:
            call: Call = caller(opened)
            while not self._over:
                asked = time.monotonic()
                try:
                    answer = await call(short(self.adapter, f"Why, {number}-{len(self.answers)}?"))
                    self.answers.append((asked, answer.adapter_digest))
                except grpc.aio.AioRpcError as error:
                    self.failures.append(f"{error.code().name}: {error.details()}")
