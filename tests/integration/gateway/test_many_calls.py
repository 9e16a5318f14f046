"""A caller without a token that opens calls without end over gRPC keeps nobody else from being served."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from soliloquy.v1.gateway_pb2 import ListRunsRequest
from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from soliloquy_services.gateway.access.rates import RateLimit
from tests.integration.gateway.floods import PREFACE, field, frame, list_over_grpc, list_over_http
from tests.integration.gateway.site import guarded, site

STREAMS = 20_000
# Between two looks at the operator.
STREAMS_A_BURST = 1_000
MOST_SECONDS = 60.0
CALL = b"".join(
    field(name, value)
    for name, value in (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", b"/soliloquy.v1.RunService/ListRuns"),
        (b":authority", b"localhost"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    )
)
# What follows the head of each call: the beginning of a message that never ends, or the call's cancellation.
FLOODS = {"slow body": (0, b"\0\0\0\1"), "rapid reset": (3, b"\0\0\0\x08")}


@pytest.mark.parametrize("kind", FLOODS)
async def test_one_connection_with_thousands_of_calls_costs_an_operator_nothing(tmp_path: Path, kind: str) -> None:
    kind_of_frame, payload = FLOODS[kind]
    async with site(tmp_path, admitting=guarded(tmp_path)) as at:
        host, _, port = at.grpc.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        reading = asyncio.create_task(reader.read())
        writer.write(PREFACE)
        # The server may hang up on such a client.
        with suppress(ConnectionError):
            for first in range(0, STREAMS, STREAMS_A_BURST):
                for stream in range(2 * first + 1, 2 * (first + STREAMS_A_BURST), 2):
                    writer.write(frame(1, 4, stream, CALL) + frame(kind_of_frame, 0, stream, payload))
                await writer.drain()
                async with asyncio.timeout(MOST_SECONDS):
                    await list_over_grpc(at.grpc)
                    await list_over_http(at.http)
        writer.transport.abort()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_a_stranger_who_calls_too_often_waits_for_its_refusal_and_nobody_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.grpc_server.REFUSAL_SECONDS", 1.0)
    admitting = guarded(tmp_path, strangers=RateLimit(burst=1, per_second=0.1))
    async with site(tmp_path, admitting=admitting) as at, grpc.aio.insecure_channel(at.grpc) as channel:
        stub: Any = RunServiceStub(channel)

        async def refused() -> grpc.StatusCode:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.ListRuns(ListRunsRequest())
            return caught.value.code()

        began = time.monotonic()
        assert await refused() is grpc.StatusCode.UNAUTHENTICATED
        waiting = asyncio.create_task(refused())
        await list_over_grpc(at.grpc)
        assert not waiting.done()
        assert await waiting is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert time.monotonic() - began >= 1.0
