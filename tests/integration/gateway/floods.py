"""Floods of connections and of HTTP/2 frames without an admitted call, and the calls of an operator beside them.

`python -m tests.integration.gateway.floods ADDRESS KIND CONNECTIONS` floods until its input ends.
"""

import asyncio
import contextlib
import itertools
import os
import resource
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import aiohttp
import grpc

from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from tests.unit.gateway.tokens import OPERATOR

# Before a closed connection is opened again.
PAUSE_SECONDS = 0.1
# Many attackers have cores of their own; here they leave them to the gateway. Those who send frames take what they can.
NICENESS = 10
# Frames that are sent at once.
BURST = 1_000


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
CALL = b"".join(
    field(name, value)
    for name, value in (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", b"/grpc.health.v1.Health/Watch"),
        (b":authority", b"localhost"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    )
)
WATCHES = b"".join(frame(1, 4, each, CALL) + frame(0, 1, each, bytes(5)) for each in range(1, 40, 2))
HTTP_HEAD = (
    b"POST /v1/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n"
)
# The first bytes of each connection of a flood, and whether it reads what comes.
FLOODS = {
    "http idle": (b"", True),
    "http slow head": (b"GET /v1/runs HTTP/1.1\r\nx", True),
    "http slow body": (HTTP_HEAD + b" ", True),
    "http slow reader": (b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 20, False),
    "grpc idle": (b"", True),
    "grpc slow head": (PREFACE + frame(1, 0, 1, CALL), True),
    "grpc slow body": (PREFACE + frame(1, 4, 1, CALL) + frame(0, 0, 1, b"\0\0\0\1"), True),
    "grpc slow reader": (PREFACE + WATCHES, False),
}


def resets() -> Iterator[bytes]:
    """Yields calls that are cancelled as soon as they are made."""
    for stream in itertools.count(1, 2 * BURST):
        each = range(stream, stream + 2 * BURST, 2)
        yield b"".join(frame(1, 4, number, CALL) + frame(3, 0, number, b"\0\0\0\x08") for number in each)


# What each connection of a flood of frames sends after its preface, without end.
FRAMES: dict[str, Callable[[], Iterator[bytes]]] = {
    "grpc pings": lambda: itertools.repeat(frame(6, 0, 0, bytes(8)) * BURST),
    "grpc settings": lambda: itertools.repeat(frame(4, 0, 0, b"") * BURST),
    "grpc rapid reset": resets,
    "grpc continuation": lambda: itertools.chain(
        [frame(1, 0, 1, CALL)], itertools.repeat(frame(9, 0, 1, field(b"x", bytes(100)) * 100))
    ),
    "grpc empty continuation": lambda: itertools.chain(
        [frame(1, 0, 1, CALL)], itertools.repeat(frame(9, 0, 1, b"") * BURST)
    ),
    "grpc empty data": lambda: itertools.chain([frame(1, 4, 1, CALL)], itertools.repeat(frame(0, 0, 1, b"") * BURST)),
    "grpc window updates": lambda: itertools.repeat(frame(8, 0, 0, b"\0\0\0\1") * BURST),
    "grpc window zero": lambda: itertools.chain(
        [frame(4, 0, 0, b"\0\4\0\0\0\0") + WATCHES], itertools.repeat(frame(6, 1, 0, bytes(8)))
    ),
}


async def send_frames(address: str, kind: str, counts: Counter[str]) -> None:
    """Sends frames as fast as they are read, and connects again whenever the connection is closed."""
    host, _, port = address.rpartition(":")
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port))
            counts["opened"] += 1
            reading = asyncio.create_task(reader.read())
            try:
                writer.write(PREFACE)
                for content in FRAMES[kind]():
                    writer.write(content)
                    await writer.drain()
                    counts["sent"] += 1
                    # Others have their turn even where nothing has to wait.
                    await asyncio.sleep(0)
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                writer.transport.abort()
        await asyncio.sleep(PAUSE_SECONDS)


async def hold(address: str, kind: str, counts: Counter[str]) -> None:
    """Holds a connection, and opens it again whenever it is closed."""
    first, reads = FLOODS[kind]
    host, _, port = address.rpartition(":")
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port))
            counts["opened"] += 1
            counts["held"] += 1
            try:
                if not reads:
                    writer.transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(first)
                if reads:
                    while await reader.read(4_096):
                        pass
                else:
                    await writer.wait_closed()
            finally:
                counts["held"] -= 1
                writer.transport.abort()
        await asyncio.sleep(PAUSE_SECONDS)


@contextlib.asynccontextmanager
async def flooded(address: str, kind: str, connections: int) -> AsyncIterator[Counter[str]]:
    """Yields the numbers of connections that were opened and are held."""
    counts: Counter[str] = Counter()
    flood = send_frames if kind in FRAMES else hold
    tasks = [asyncio.create_task(flood(address, kind, counts)) for _ in range(connections)]
    try:
        yield counts
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def list_over_http(address: str) -> None:
    async with (
        aiohttp.ClientSession(headers={"authorization": f"Bearer {OPERATOR}"}) as session,
        session.get(f"{address}/v1/runs") as answer,
    ):
        assert answer.status == 200


async def list_over_grpc(address: str) -> None:
    """Asks once, over a connection of its own: our client would ask again after a refusal."""
    alone = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0))
    async with grpc.aio.insecure_channel(address, options=alone) as channel:
        stub: Any = RunServiceStub(channel)
        await stub.ListRuns(ListRunsRequest(), metadata=(("authorization", f"Bearer {OPERATOR}"),))


async def _main(address: str, kind: str, connections: int) -> None:
    async with flooded(address, kind, connections) as counts:
        # Answers each line with the counts.
        while await asyncio.to_thread(sys.stdin.readline):
            print(counts["opened"], counts["held"], flush=True)


if __name__ == "__main__":
    os.nice(NICENESS if sys.argv[2] in FLOODS else 0)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
