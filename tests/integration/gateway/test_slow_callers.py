"""The gateway neither waits for slow callers nor keeps large requests in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from soliloquy.v1.conversation_pb2 import Summary
from soliloquy.v1.gateway_pb2 import FinishedConversation
from soliloquy_services.gateway import app
from soliloquy_services.gateway.http import answers, connection, parsing
from tests.integration.gateway.site import Site, connected, head, site
from tests.waiting import until


async def test_ten_megabytes_are_refused_before_they_are_sent(open_site: Site) -> None:
    reader, writer = await connected(open_site)
    writer.write(head("POST", "/v1/runs", "content-type: application/json", "content-length: 10000000"))
    assert b" 413 " in await reader.readline()
    assert b'"code":"too_large"' in await reader.readuntil(b"}}")
    writer.close()


async def test_who_sends_ten_megabytes_before_reading_anything_is_told_the_same(open_site: Site) -> None:
    def sent() -> tuple[int, str]:
        with contextlib.closing(HTTPConnection(open_site.http.removeprefix("http://"))) as connection:
            connection.request("POST", "/v1/runs", b" " * 10_000_000, {"content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    status, body = await asyncio.to_thread(sent)
    assert (status, "send at most 1048576 bytes" in body) == (413, True)


async def test_who_goes_on_sending_after_the_answer_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    async with site(tmp_path) as at:
        _, writer = await connected(at)
        writer.write(head("POST", "/v1/runs", "content-type: application/json", "content-length: 1000000000"))
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(trickled(writer), 120)
        writer.close()


async def trickled(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b" " * 1_000)
        await writer.drain()
        await asyncio.sleep(0.01)


async def test_ten_megabytes_of_unknown_length_are_read_no_further_than_they_may_be(open_site: Site) -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(100):
            sent += 100_000
            yield b" " * 100_000

    answer = await open_site.session.post(
        f"{open_site.http}/v1/runs", data=body(), headers={"content-type": "application/json"}
    )
    assert answer.status == 413
    assert sent < 10_000_000


async def test_a_body_that_does_not_come_is_not_waited_for(open_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "BODY_SECONDS", 0.1)
    reader, writer = await connected(open_site)
    writer.write(head("POST", "/v1/runs", "content-type: application/json", "content-length: 9") + b"{")
    async with asyncio.timeout(120):
        assert b" 408 " in await reader.readline()
        await reader.read()
    writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET /v1/runs HTTP/1.1\r\nhost: loc"])
async def test_who_connects_and_does_not_ask_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    async with site(tmp_path) as at:
        reader, writer = await connected(at)
        writer.write(begun)
        async with asyncio.timeout(120):
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
        writer.close()


async def test_a_full_port_refuses_newcomers_until_somebody_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "most_connections", lambda: 2)
    monkeypatch.setattr(connection, "HEAD_SECONDS", 240.0)
    async with site(tmp_path) as at:
        idle = [await connected(at) for _ in range(2)]
        reader, writer = await connected(at)
        async with asyncio.timeout(120):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        for _, held in idle:
            held.close()
            await held.wait_closed()

        async def answered() -> bool:
            reader, writer = await connected(at)
            with contextlib.closing(writer), contextlib.suppress(ConnectionError):
                writer.write(head("GET", "/v1/session"))
                return b" 200 " in await reader.readline()
            return False

        await until(answered)


async def test_who_begins_a_second_request_and_does_not_end_it_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    async with site(tmp_path) as at:
        reader, writer = await connected(at)
        writer.write(head("GET", "/v1/session"))
        assert b" 200 " in await reader.readline()
        await reader.readuntil(b"}")
        writer.write(b"GET /v1")
        async with asyncio.timeout(120):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()


async def test_who_reads_slowly_costs_a_bounded_buffer_and_is_dropped_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "STALL_SECONDS", 0.3)
    async with site(tmp_path) as at:
        at.collecting.open.clear()
        run = await at.start()
        _, writer = await connected(at)
        writer.write(head("GET", f"/v1/runs/{run}/conversations/tail"))
        await until(lambda: at.gateway._tails.readers == 1)
        shown = Summary(question="x" * 100_000)
        for number in range(10_000):
            if not at.gateway._tails.readers:
                break
            finished = FinishedConversation(run=run, ordinal=number, summary=shown)
            at.gateway._tails.publish(run, finished)
            await asyncio.sleep(0.001)
        await until(lambda: at.gateway._tails.readers == 0)
        writer.close()
