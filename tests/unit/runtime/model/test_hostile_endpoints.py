"""A hostile endpoint costs bounded memory and time, and its answers count as faulty."""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import repeat

import pytest

from soliloquy.runtime.model.faults import EndpointRefuses, InvalidAnswer, ModelFailed, TimedOut
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.openai_format import MOST_STREAM_BYTES
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Endpoint, Key
from soliloquy.v1.model_pb2 import GenerateRequest
from tests.unit.runtime.model.streams import KeptStreams

Pieces = Callable[[], Iterator[bytes]]
REQUEST = GenerateRequest(role="tutor", prompt="soliloquy/deciding")
HEAD = b"HTTP/1.1 200 OK\r\n"
STREAM = HEAD + b"content-type: text/event-stream\r\n\r\n"
KILOBYTES = b"x" * 65_536
# Sockets and the client's reader hold a few megabytes that it never sees.
BUFFERED = 16 * 1024**2


def after(head: bytes, piece: bytes) -> Pieces:
    """Sends the piece without end."""

    def pieces() -> Iterator[bytes]:
        yield head
        yield from repeat(piece)

    return pieces


def bomb() -> Iterator[bytes]:
    """Compresses without end: a kilobyte says a megabyte."""
    yield HEAD + b"content-encoding: gzip\r\n\r\n"
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    while True:
        yield packing.compress(bytes(1024**2)) + packing.flush(zlib.Z_SYNC_FLUSH)


def short() -> Iterator[bytes]:
    yield HEAD + b"content-length: 1000\r\n\r\n{}"


CHUNK = b"data: " + json.dumps({"choices": [{"delta": {"content": "x" * 1_000}}]}).encode() + b"\n\n"
HOSTILE: dict[str, Pieces] = {
    "endless": after(HEAD + b"\r\n", KILOBYTES),
    "endless chunks": after(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"10000\r\n" + KILOBYTES + b"\r\n"),
    "more than its length": after(HEAD + b"content-length: 2\r\n\r\n", KILOBYTES),
    "less than its length": short,
    "gzip bomb": bomb,
    "endless error": after(b"HTTP/1.1 500 Oops\r\n\r\n", KILOBYTES),
    "endless stream": after(STREAM, CHUNK * 50),
    "endless comments": after(STREAM, b": still here\n\n" * 5_000),
    "endless line": after(STREAM, KILOBYTES),
    "endless headers": after(HEAD, b"x-more: yes\r\n" * 1_000),
    "endless header": after(HEAD + b"x-more: ", KILOBYTES),
    "no HTTP": after(b"", KILOBYTES),
}


@asynccontextmanager
async def asking(
    pieces: Pieces, seconds: float = 0.0, patience: float = 60.0
) -> AsyncIterator[tuple[OpenAIClient, list[int], Endpoint]]:
    """Yields a client of an endpoint that sends these pieces with a pause between them, and the sizes of those sent."""
    sent: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces():
                writer.write(piece)
                await writer.drain()
                sent.append(len(piece))
                await asyncio.sleep(seconds)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    endpoint = Endpoint(engine="openai", base_url=f"http://127.0.0.1:{port}/v1", model="large", timeout=patience)
    client = OpenAIClient("hosted", endpoint, Key("", "OPENAI_API_KEY"))
    try:
        yield client, sent, endpoint
    finally:
        await client.close()
        server.close()


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("listening", [False, True])
async def test_an_answer_without_end_is_a_faulty_one(kind: str, *, listening: bool) -> None:
    async with asking(HOSTILE[kind]) as (client, sent, _):
        async with asyncio.timeout(60):
            with pytest.raises(InvalidAnswer):
                await client.ask(REQUEST, 5, KeptStreams() if listening else None)
        assert sum(sent) <= MOST_STREAM_BYTES + BUFFERED


async def test_a_redirect_is_not_followed() -> None:
    def elsewhere() -> Iterator[bytes]:
        yield b"HTTP/1.1 307 There\r\nlocation: /v1/chat/completions\r\ncontent-length: 0\r\n\r\n"

    async with asking(elsewhere) as (client, sent, _):
        with pytest.raises(EndpointRefuses, match="serves no chat completions"):
            await client.ask(REQUEST, 5)
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("head", "drop"),
    [(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (HEAD + b"\r\n", b" "), (HEAD, b"")],
    ids=["interim answers", "body", "nothing"],
)
async def test_an_answer_that_drips_ends_with_the_calls_time(
    head: bytes, drop: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy.runtime.model.remote.TRIES", 1)
    async with asking(after(head, drop), seconds=0.01, patience=0.3) as (client, sent, endpoint):
        with pytest.raises(ModelFailed) as raised:
            await RemoteModel("hosted", endpoint, client).generate(REQUEST)
    assert isinstance(raised.value.__cause__, TimedOut)
    assert len(sent) > 2
