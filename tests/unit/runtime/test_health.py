"""Probes and scrapers over real connections: alive, ready or why not, and no client delays a stop."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from soliloquy.runtime.health import LAST_WORDS_SECONDS, MAX_CONNECTIONS, serve_probes
from soliloquy.runtime.http_server import CannotListen
from tests.waiting import until


@dataclass(kw_only=True)
class Probed:
    address: str = ""
    faults: list[str] = field(default_factory=list)

    async def get(self, path: str) -> tuple[int, str]:
        async with self.connection() as (reader, writer):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".encode())
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        return int(head.split()[1]), body

    async def is_alive(self) -> bool:
        return (await self.get("/healthz"))[0] == 200

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(*self.address.split(":"))
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def probed() -> AsyncIterator[Probed]:
    service = Probed()
    async with serve_probes("127.0.0.1:0", lambda: service.faults) as service.address:
        yield service


async def test_one_with_faults_is_alive_and_says_why_it_is_not_ready() -> None:
    async with probed() as service:
        service.faults += ["student has not joined its group", "no sandbox"]
        assert await service.get("/readyz") == (503, "student has not joined its group\nno sandbox\n")
        assert (await service.get("/healthz"))[0] == 200
        service.faults.clear()
        assert (await service.get("/readyz"))[0] == 200


async def test_clients_that_say_nothing_or_half_a_request_do_not_hold_up_a_stop() -> None:
    async with contextlib.AsyncExitStack() as clients:
        async with probed() as service:
            await clients.enter_async_context(service.connection())
            _, writer = await clients.enter_async_context(service.connection())
            writer.write(b"GET /metrics HTTP/1.1\r\nHost:")
            await writer.drain()
            assert (await service.get("/healthz"))[0] == 200
            began = time.monotonic()
        assert time.monotonic() - began < LAST_WORDS_SECONDS + 10


async def test_a_client_that_does_not_take_its_answers_does_not_hold_up_a_stop() -> None:
    async with contextlib.AsyncExitStack() as clients:
        async with probed() as service:
            _, writer = await clients.enter_async_context(service.connection())
            # More unread responses than the connection buffers.
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n" * 2_000)
            assert (await service.get("/healthz"))[0] == 200
            began = time.monotonic()
        assert time.monotonic() - began < LAST_WORDS_SECONDS + 10


async def test_clients_beyond_the_limit_are_turned_away() -> None:
    async with probed() as service, contextlib.AsyncExitStack() as clients:
        for _ in range(MAX_CONNECTIONS):
            await clients.enter_async_context(service.connection())
        assert (await service.get("/healthz"))[0] == 503
        await clients.aclose()
        await until(service.is_alive)


async def test_an_address_that_is_taken_or_of_another_machine_is_named() -> None:
    async with probed() as service:
        for address, why in ((service.address, "Address already in use"), ("192.0.2.1:80", "Cannot assign")):
            with pytest.raises(CannotListen, match=f"cannot listen on {address}: {why}.*: choose another address"):
                async with serve_probes(address, list):
                    pass
