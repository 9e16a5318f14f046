"""Model endpoints whose answers are to harm whoever asks them: `python -m tests.unit.runtime.model.hostile KIND`."""

import asyncio
import json
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import repeat

Pieces = Callable[[], Iterator[bytes]]
HEAD = b"HTTP/1.1 200 OK\r\n"
STREAM = HEAD + b"content-type: text/event-stream\r\n\r\n"
KILOBYTES = b"x" * 65_536


def after(head: bytes, piece: bytes) -> Pieces:
    """Sends the piece without end."""

    def pieces() -> Iterator[bytes]:
        yield head
        yield from repeat(piece)

    return pieces


def once(content: bytes) -> Pieces:
    return lambda: iter([content])


def bomb() -> Iterator[bytes]:
    """Compresses without end: a kilobyte says a megabyte."""
    yield HEAD + b"content-encoding: gzip\r\n\r\n"
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    while True:
        yield packing.compress(bytes(1024**2)) + packing.flush(zlib.Z_SYNC_FLUSH)


CHUNK = b"data: " + json.dumps({"choices": [{"delta": {"content": "x" * 1_000}}]}).encode() + b"\n\n"
ENDLESS: Mapping[str, Pieces] = {
    "endless": after(HEAD + b"\r\n", KILOBYTES),
    "endless chunks": after(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"10000\r\n" + KILOBYTES + b"\r\n"),
    "more than its length": after(HEAD + b"content-length: 2\r\n\r\n", KILOBYTES),
    "gzip bomb": bomb,
    "endless error": after(b"HTTP/1.1 500 Oops\r\n\r\n", KILOBYTES),
    "endless stream": after(STREAM, CHUNK * 50),
    "endless comments": after(STREAM, b": still here\n\n" * 5_000),
    "endless line": after(STREAM, KILOBYTES),
    "endless headers": after(HEAD, b"x-more: yes\r\n" * 1_000),
    "endless header": after(HEAD + b"x-more: ", KILOBYTES),
    "no HTTP": after(b"", KILOBYTES),
}
# Answers with an end, and none of them an answer.
BROKEN: Mapping[str, Pieces] = {
    "less than its length": once(HEAD + b"content-length: 1000\r\n\r\n{}"),
    "nothing": once(b""),
    "two lengths": once(HEAD + b"content-length: 2\r\ncontent-length: 9\r\n\r\n{}"),
    "a negative length": once(HEAD + b"content-length: -2\r\n\r\n{}"),
    "a huge length": once(HEAD + b"content-length: " + b"9" * 4_000 + b"\r\n\r\n{}"),
    "chunks with a length": once(HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    "a chunk of a huge size": once(HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n{}"),
    "chunks of no size": once(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    "a folded header": once(HEAD + b"x: a\r\n b\r\n\r\n{}"),
    "a zero in a header": once(HEAD + b"x: a\0b\r\n\r\n{}"),
    "no return": once(b"HTTP/1.1 200 OK\ncontent-length: 2\n\n{}"),
    "version 0.9": once(b"{}"),
    "version 9": once(b"HTTP/9.9 200 OK\r\n\r\n{}"),
    "a status of five digits": once(b"HTTP/1.1 20000 OK\r\n\r\n{}"),
    "another protocol": once(b"HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n{}"),
    "controls": once(HEAD + b"\r\n\x1b[2J\x1b]0;owned\x07\xc2\x9b31m\xe2\x80\xae"),
    "deep JSON": once(HEAD + b"\r\n" + b"[" * 500_000),
    "a long number": once(HEAD + b'\r\n{"choices": ' + b"9" * 500_000 + b"}"),
    "half a character": once(HEAD + b'\r\n{"choices": [{"message": {"content": "\\ud800"}}]}'),
    "no UTF-8": once(HEAD + b"\r\n\xff\xfe{}"),
}
REDIRECTS: Mapping[str, Pieces] = {
    f"a redirect to {name}": once(
        b"HTTP/1.1 307 There\r\nlocation: " + location + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    for name, location in (
        ("itself", b"/v1/chat/completions"),
        ("a file", b"file:///etc/passwd"),
        ("another host", b"http://169.254.169.254/latest/meta-data"),
    )
}
# With a pause between its pieces each lasts until the call's time is over.
DRIPS: Mapping[str, Pieces] = {
    "interim answers that drip": after(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body that drips": after(HEAD + b"\r\n", b" "),
    "a head that drips": after(HEAD, b""),
}
DRIP_SECONDS = 0.01


@asynccontextmanager
async def served(pieces: Pieces, seconds: float = 0.0) -> AsyncIterator[tuple[str, list[int]]]:
    """Yields the URL of an API that sends these pieces with a pause between them, and the sizes of those sent."""
    sent: list[int] = []
    server = await asyncio.start_server(partial(_answer, pieces, seconds, sent), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", sent
    finally:
        server.close()


async def _answer(
    pieces: Pieces, seconds: float, sent: list[int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces():
            writer.write(piece)
            await writer.drain()
            sent.append(len(piece))
            await asyncio.sleep(seconds)
    writer.close()


KINDS: Mapping[str, Pieces] = {**ENDLESS, **BROKEN, **REDIRECTS, **DRIPS}


async def _main(kind: str) -> None:
    async with served(KINDS[kind], DRIP_SECONDS if kind in DRIPS else 0.0) as (url, _):
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    # Serves one kind until its input ends.
    asyncio.run(_main(sys.argv[1]))
