"""The files and batches of an endpoint with OpenAI's batch API."""

import asyncio
import json
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import aiohttp

from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import EndpointRefuses, InvalidAnswer
from soliloquy.runtime.model.openai_client import COMPLETIONS
from soliloquy.runtime.model.openai_format import MOST_ANSWER_BYTES, error_words, retry_after
from soliloquy.runtime.model.openai_http import OpenAIConnection

# The most that a batch may hold.
MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
# What a line has around its request.
LINE_BYTES = 160
# How long a call may take, and a file that it carries.
CALL_SECONDS = 60.0
FILE_SECONDS = 3600.0
# An answer has its envelope around it.
_MOST_LINE_BYTES = MOST_ANSWER_BYTES + 64 * 1024
# An endpoint may repeat lines.
_MOST_LINES = 4 * MOST_REQUESTS
_PAGE = 100
# The clocks of two machines may differ by so much.
_CLOCK_SECONDS = 600
# The entry of a batch's metadata with our own name of it.
_OWN = "soliloquy_batch"


# A form with the purpose and the beginning of the file.
_FORM = (
    '--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    '--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
    "Content-Type: application/jsonl\r\n\r\n"
)
_PIECE_BYTES = 256 * 1024


class Missing(Exception):
    """The endpoint knows nothing of a batch, or lists none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A batch as its endpoint describes it."""

    remote: str
    status: str
    # The files with its replies.
    files: tuple[str, ...]
    # Why the endpoint did not begin with it; empty if it did.
    error: str

    @property
    def is_over(self) -> bool:
        return self.status in ("completed", "expired", "cancelled", "failed")


class BatchApi:
    def __init__(self, connection: OpenAIConnection) -> None:
        self._connection = connection

    async def upload(self, name: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> str:
        """Uploads requests, each with its id, as a file of that name; returns the endpoint's name of it."""
        with tempfile.TemporaryFile(dir=folder) as file:
            # Our own form: that of aiohttp closes the file from a thread, at a time of its choosing.
            boundary = uuid.uuid4().hex
            file.write(_FORM.format(boundary=boundary, name=name).encode())
            for request, body in lines:
                head = json.dumps({"custom_id": request, "method": "POST", "url": f"/v1{COMPLETIONS}"})
                file.write(b"".join((head[:-1].encode(), b', "body": ', body, b"}\n")))
            file.write(f"\r\n--{boundary}--\r\n".encode())
            headers = {
                "Content-Type": f"multipart/form-data; boundary={boundary}",
                "Content-Length": str(file.tell()),
            }
            told = await self._call("POST", "/files", seconds=FILE_SECONDS, data=_pieces(file), headers=headers)
            return str(_field(told, "id"))

    async def create(self, own: str, file: str) -> Job:
        body = {
            "input_file_id": file,
            "endpoint": f"/v1{COMPLETIONS}",
            "completion_window": "24h",
            "metadata": {_OWN: own},
        }
        return _job(await self._call("POST", "/batches", json=body))

    async def batch(self, remote: str) -> Job:
        """Raises Missing."""
        return _job(await self._call("GET", f"/batches/{remote}"))

    async def find(self, own: str, since: float) -> list[Job]:
        """Returns the batches with our own name, made since then. Raises Missing where an endpoint lists none."""
        found: list[Job] = []
        after = ""
        while True:
            page = await self._call("GET", "/batches", params={"limit": _PAGE} | ({"after": after} if after else {}))
            entries = _field(page, "data")
            if not isinstance(entries, list):
                raise InvalidAnswer("the endpoint lists no batches")
            found += [_job(entry) for entry in entries if (_field(entry, "metadata") or {}).get(_OWN) == own]
            is_past = any(_field(entry, "created_at") < since - _CLOCK_SECONDS for entry in entries)
            if is_past or not entries or not _field(page, "has_more"):
                return found
            after = str(_field(entries[-1], "id"))

    async def cancel(self, remote: str) -> None:
        await self._call("POST", f"/batches/{remote}/cancel")

    async def delete(self, file: str) -> None:
        await self._call("DELETE", f"/files/{file}")

    async def lines(self, file: str) -> AsyncIterator[Mapping[str, Any]]:
        """Yields the lines of a file; what is no JSON object, or too long for one, is left out."""
        path = f"/files/{file}/content"
        async with asyncio.timeout(FILE_SECONDS), self._connection.request("GET", path) as response:
            if response.status != 200:
                raise self._fault(response, await self._connection.content(response))
            number = 0
            async for content in _split(response.content.iter_any()):
                number += 1
                if number > _MOST_LINES:
                    raise InvalidAnswer(f"a file of replies has more than {_MOST_LINES:,} lines")
                try:
                    line = json.loads(self._connection.key.without(content))
                except (ValueError, RecursionError):
                    continue
                if isinstance(line, dict):
                    yield line

    async def _call(self, method: str, path: str, *, seconds: float = CALL_SECONDS, **how: Any) -> Any:
        async with asyncio.timeout(seconds), self._connection.request(method, path, **how) as response:
            content = await self._connection.content(response)
        if response.status != 200:
            raise self._fault(response, content)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InvalidAnswer(f"{method} {path} has no JSON for an answer") from error

    def _fault(self, response: aiohttp.ClientResponse, content: bytes) -> Exception:
        details = f"{response.method} {response.url.path}: {response.status}: {error_words(content)}"
        if response.method == "GET" and response.status in (404, 405):
            return Missing(details)
        if response.status == 404:
            return EndpointRefuses(f"{self._connection.where} has no batches ({details}): ask it without batch")
        after = retry_after(response.headers, time.time())
        fault = self._connection.fault(response.status, details, after, serves="batches")
        return EndpointRefuses(str(fault)) if isinstance(fault, ModelRefused) else fault


def _job(told: Any) -> Job:
    files = (_field(told, "output_file_id"), _field(told, "error_file_id"))
    errors = _field(told, "errors") or {}
    return Job(
        remote=str(_field(told, "id")),
        status=str(_field(told, "status")),
        files=tuple(str(file) for file in files if file),
        error=error_words(json.dumps({"error": errors}).encode()) if errors else "",
    )


def _field(told: Any, name: str) -> Any:
    if not isinstance(told, dict):
        raise InvalidAnswer(f"{str(told)[:40]!r} is no object with {name!r}")
    return told.get(name)


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    file.seek(0)
    while piece := file.read(_PIECE_BYTES):
        yield piece


async def _split(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields lines, without those that are too long."""
    rest, is_long = b"", False
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if not is_long:
                yield line
            is_long = False
        if len(rest) > _MOST_LINE_BYTES:
            rest, is_long = b"", True
    if rest and not is_long:
        yield rest
