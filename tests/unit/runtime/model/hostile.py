"""Model endpoints whose answers are to harm whoever asks them.

`python -m tests.unit.runtime.model.hostile KIND FOLDER` serves one kind until its input ends; the folder gets the
certificates, with that of their authority in `authority.pem`.
"""

import asyncio
import json
import ssl
import sys
import warnings
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import repeat
from pathlib import Path

from tests.kafka.certificates import Authority, Certificate

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
# What comes in place of a handshake.
HANDSHAKES: Mapping[str, Pieces] = {
    "HTTP for TLS": once(HEAD + b"\r\n{}"),
    "an alert": once(b"\x15\x03\x03\0\2\2\x28"),
    "half a handshake": once(b"\x16\x03\x03\0\x7a\2\0\0\x76\3\3" + bytes(20)),
    "a record of 64 KiB": once(b"\x16\x03\x03\xff\xff" + bytes(70_000)),
    "endless records": after(b"", b"\x16\x03\x03\x40\0" + bytes(16_384)),
    "no handshake": once(b""),
}
CERTIFICATES: Mapping[str, Callable[[Authority, Authority], Certificate]] = {
    "an expired certificate": lambda known, _: known.sign("broker", [_HOST], days="-1"),
    "a certificate of another host": lambda known, _: known.sign("broker", ["DNS:other.example"]),
    "a certificate for clients": lambda known, _: known.sign("client", [_HOST]),
    "a certificate of another authority": lambda _, other: other.sign("broker", [_HOST]),
    "a certificate that signs itself": lambda _, other: other.own,
    "an old protocol": lambda known, _: known.sign("broker", [_HOST]),
}
_HOST = "IP:127.0.0.1"


def tls(kind: str, folder: Path) -> ssl.SSLContext:
    """Returns the context of an endpoint whose certificate nobody should accept."""
    known, other = (Authority.founded(place) for place in (folder, folder / "other"))
    certificate = CERTIFICATES[kind](known, other)
    return context_of(certificate, is_old=kind == "an old protocol")


def context_of(certificate: Certificate, *, is_old: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.certificate, certificate.key)
    if is_old:
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    return context


@asynccontextmanager
async def served(
    pieces: Pieces, seconds: float = 0.0, *, tls: ssl.SSLContext | None = None, handshakes: bool = False
) -> AsyncIterator[tuple[str, list[int]]]:
    """Yields the URL of an API that sends these pieces with a pause between them, and the sizes of those sent.

    With `handshakes` they come in place of one.
    """
    sent: list[int] = []
    answer = partial(_answer, pieces, seconds, sent, b"\0" if handshakes else b"\r\n\r\n")
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'https' if tls or handshakes else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", sent
    finally:
        server.close()


async def _answer(
    pieces: Pieces,
    seconds: float,
    sent: list[int],
    until: bytes,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    with suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
        await reader.readuntil(until)
        for piece in pieces():
            writer.write(piece)
            await writer.drain()
            sent.append(len(piece))
            await asyncio.sleep(seconds)
    writer.close()


KINDS: Mapping[str, Pieces] = {
    **ENDLESS,
    **BROKEN,
    **REDIRECTS,
    **DRIPS,
    **HANDSHAKES,
    **dict.fromkeys(CERTIFICATES, once(HEAD + b"\r\n{}")),
}


async def _main(kind: str, folder: Path) -> None:
    context = tls(kind, folder) if kind in CERTIFICATES else None
    seconds = DRIP_SECONDS if kind in DRIPS else 0.0
    async with served(KINDS[kind], seconds, tls=context, handshakes=kind in HANDSHAKES) as (url, _):
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
