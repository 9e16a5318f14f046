"""An operator with a token is served beside a flood of connections without one, on either port."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest

from services.gateway.access import connections
from services.gateway.access.connections import CLOSED, ConnectionLimits
from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from tests.integration.gateway.site import OPERATOR, Site, guarded, site
from tests.integration.transport.support import until

FLOOD = 120
LIMITS = ConnectionLimits(total=400, grpc=300, strangers=200, strangers_an_address=20)
# Slow machines included.
MOST_SECONDS = 5.0


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


async def held(address: str, first: bytes, *, reads: bool) -> None:
    """Holds a connection, and opens it again whenever it is closed."""
    host, _, port = address.rpartition(":")
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port))
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
                writer.transport.abort()
        await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def flood(address: str, first: bytes, *, reads: bool) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(held(address, first, reads=reads)) for _ in range(FLOOD)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def over_http(at: Site) -> None:
    async with (
        aiohttp.ClientSession(headers={"authorization": f"Bearer {OPERATOR}"}) as session,
        session.get(f"{at.http}/v1/runs") as answer,
    ):
        assert answer.status == 200


async def over_grpc(at: Site) -> None:
    alone = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(at.grpc, options=alone) as channel:
        stub: Any = RunServiceStub(channel)
        await stub.ListRuns(ListRunsRequest(), metadata=(("authorization", f"Bearer {OPERATOR}"),))


def closed(service: str) -> float:
    reasons = ("late", "address", "strangers", "total")
    return float(sum(CLOSED.labels(service, reason)._value.get() for reason in reasons))


@pytest.mark.parametrize("kind", FLOODS)
async def test_an_operator_is_served_at_once_beside_a_flood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    monkeypatch.setattr(connections, "usual_limits", lambda: LIMITS)
    service = kind.split()[0]
    async with site(tmp_path, admitting=guarded(tmp_path)) as at:
        before = closed(service)
        address = at.http.removeprefix("http://") if service == "http" else at.grpc
        first, reads = FLOODS[kind]
        async with flood(address, first, reads=reads):
            with caplog.at_level(logging.WARNING, connections.__name__):
                await until(lambda: closed(service) - before >= FLOOD - LIMITS.strangers_an_address)
            for call in (over_http, over_grpc) * 20:
                assert await seconds(call, at) < MOST_SECONDS
    assert any(f"from 127.0.0.1 to {service}" in line for line in caplog.messages)


async def seconds(call: Callable[[Site], Awaitable[None]], at: Site) -> float:
    began = time.monotonic()
    await call(at)
    return time.monotonic() - began
