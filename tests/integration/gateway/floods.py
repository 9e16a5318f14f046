"""Floods of connections that never make an admitted call, and the calls of an operator beside them.

`python -m tests.integration.gateway.floods ADDRESS KIND CONNECTIONS` floods until its input ends.
"""

import asyncio
import contextlib
import os
import resource
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import grpc

from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from tests.unit.gateway.tokens import OPERATOR

# Before a closed connection is opened again.
PAUSE_SECONDS = 0.1
# An attacker has cores of its own; here it leaves them to the gateway.
NICENESS = 10


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
    tasks = [asyncio.create_task(hold(address, kind, counts)) for _ in range(connections)]
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
    os.nice(NICENESS)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
