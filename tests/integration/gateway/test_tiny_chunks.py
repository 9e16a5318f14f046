"""A body in tiny chunks, each of which costs as much to parse as a head, keeps nobody else waiting."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

import pytest

from soliloquy_services.gateway.http.connection import LEAST_CHUNK_BYTES, MOST_CHUNKS
from tests.integration.gateway.floods import list_over_grpc, list_over_http
from tests.integration.gateway.site import OPERATOR, START, connected, guarded, head, site, told

CHUNKED = ("content-type: application/json", "transfer-encoding: chunked")
TINY = b"1\r\nx\r\n" * 20_000
BURSTS = 20
MOST_SECONDS = 60.0


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/session"), ("POST", "/v1/runs"), ("GET", "/")])
async def test_a_body_in_tiny_chunks_is_refused_before_it_costs_anybody_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, method: str, path: str
) -> None:
    async with site(tmp_path, admitting=guarded(tmp_path)) as at:
        for _ in range(BURSTS):
            _, writer = await connected(at)
            writer.write(head(method, path, *CHUNKED))
            # The gateway hangs up meanwhile.
            with suppress(ConnectionError):
                for _ in range(4):
                    writer.write(TINY)
                    await writer.drain()
            async with asyncio.timeout(MOST_SECONDS):
                await list_over_http(at.http)
                await list_over_grpc(at.grpc)
            writer.transport.abort()
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("more", [b"1\r\nx\r\n" * 2 * MOST_CHUNKS, b"no chunk\r\n"])
async def test_nonsense_after_the_answer_ends_the_connection_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, more: bytes
) -> None:
    async with site(tmp_path, admitting=guarded(tmp_path)) as at:
        reader, writer = await connected(at)
        writer.write(head("POST", "/v1/runs", *CHUNKED))
        assert b" 401 " in await reader.readline()
        await reader.readuntil(b"}}")
        writer.write(more)
        async with asyncio.timeout(MOST_SECONDS):
            assert await reader.read() == b""
        writer.close()
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("size", [16, LEAST_CHUNK_BYTES])
async def test_a_body_in_small_chunks_is_read(tmp_path: Path, size: int) -> None:
    body = b'{"request_id": "one", "request": {"recipe": "soliloquy", "problems": "arithmetic", "conversations": 3}}'
    assert START["problems"] == "arithmetic"
    body += b" " * (size * MOST_CHUNKS - len(body))
    chunks = b"".join(b"%x\r\n%s\r\n" % (size, body[at : at + size]) for at in range(0, len(body), size))
    async with site(tmp_path, admitting=guarded(tmp_path)) as at:
        sent = head("POST", "/v1/runs", *CHUNKED, f"authorization: Bearer {OPERATOR}", "connection: close")
        answer = await told(at, sent + chunks + b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 201 "), answer
