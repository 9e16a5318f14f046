"""The batch API of an endpoint as a run uses it, whatever its form; and the calls that all forms make."""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError

from soliloquy.runtime.completions import first_error
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.batch_table import Batch
from soliloquy.runtime.model.dialects import BatchForm
from soliloquy.runtime.model.faults import EndpointRefuses, InvalidAnswer
from soliloquy.runtime.model.openai_format import MOST_ANSWER_BYTES, error_words, retry_after
from soliloquy.runtime.model.openai_http import OpenAIConnection

# How long a call may take, and one that carries a batch.
CALL_SECONDS = 60.0
FILE_SECONDS = 3600.0
# The clocks of two machines may differ by so much.
CLOCK_SECONDS = 600
# An answer has its envelope around it.
_MOST_LINE_BYTES = MOST_ANSWER_BYTES + 64 * 1024
# An endpoint may repeat lines.
_LINES_A_REQUEST = 4
_PIECE_BYTES = 256 * 1024

# OpenAI's statuses of a batch that the endpoint does not work on any more.
OVER = frozenset({"completed", "expired", "cancelled", "failed"})


class FileBatch(BaseModel):
    """A batch of OpenAI's form, made of a file."""

    id: str
    status: str
    created_at: float = 0.0
    metadata: dict[str, Any] | None = None
    request_counts: dict[str, int] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    # Why the endpoint did not begin with it.
    errors: Any = None

    @property
    def made(self) -> float:
        return self.created_at


class MessageBatch(BaseModel):
    """A batch of Anthropic's form, made of its requests."""

    id: str
    processing_status: str
    created_at: datetime
    request_counts: dict[str, int]
    results_url: str | None = None

    @property
    def made(self) -> float:
        return self.created_at.timestamp()

    @property
    def has_ended(self) -> bool:
        return self.processing_status == "ended"


class BatchPage(BaseModel):
    """A page of the list of batches, newest first."""

    data: list[Any]
    has_more: bool = False


class UploadedFile(BaseModel):
    """A file that a batch of OpenAI's form is made of."""

    id: str


B = TypeVar("B", FileBatch, MessageBatch)
T = TypeVar("T", bound=BaseModel)


class Missing(Exception):
    """The endpoint knows nothing of a batch, or lists none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A batch as its endpoint describes it."""

    remote: str
    # One of OpenAI's.
    status: str
    # The files with its replies.
    files: tuple[str, ...] = ()
    # Why the endpoint did not begin with it; empty if it did.
    error: str = ""
    # Whether it is known to be the batch that was looked for; if not, its replies will tell.
    is_certain: bool = True

    @property
    def is_over(self) -> bool:
        return self.status in OVER


class BatchApi(ABC, Generic[B]):
    """The calls about batches of one form."""

    described: type[B]
    path: str
    # So many batches are on a page of the list; the parameter `cursor` asks for those behind one.
    page: int
    cursor: str

    def __init__(self, connection: OpenAIConnection, form: BatchForm) -> None:
        self.form = form
        self._connection = connection

    async def upload(self, name: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> str:
        """Uploads what a batch is made of, and returns the endpoint's name of it; empty if it is made of its requests.

        A line has a request's id and its body, as chat completions have it.
        """
        return ""

    @abstractmethod
    async def create(self, own: str, file: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> Job: ...

    async def batch(self, remote: str) -> Job:
        """Raises Missing."""
        return self.job(await self.call("GET", f"{self.path}/{remote}"))

    @abstractmethod
    async def find(self, batch: Batch) -> list[Job]:
        """Returns what the endpoint has made of a batch, and what may be it. Raises Missing where it lists none."""

    async def cancel(self, remote: str) -> None:
        await self.call("POST", f"{self.path}/{remote}/cancel")

    @abstractmethod
    async def delete(self, file: str) -> None:
        """Deletes what was uploaded, or a file of replies."""

    @abstractmethod
    def lines(self, file: str) -> AsyncIterator[Mapping[str, Any]]:
        """Yields replies as OpenAI's files have them; what is no JSON object, or too long for one, is left out."""

    @abstractmethod
    def job_of(self, entry: B) -> Job: ...

    def job(self, told: Any) -> Job:
        return self.job_of(read(self.described, told))

    async def listed(self, since: float) -> AsyncIterator[B]:
        """Yields the batches that were made since then, newest first."""
        params: dict[str, Any] = {"limit": self.page}
        while True:
            page = read(BatchPage, await self.call("GET", self.path, params=params))
            entries = [read(self.described, entry) for entry in page.data]
            for entry in entries:
                if entry.made < since:
                    return
                yield entry
            if not entries or not page.has_more:
                return
            params[self.cursor] = entries[-1].id

    async def call(self, method: str, path: str, *, seconds: float = CALL_SECONDS, **how: Any) -> Any:
        async with asyncio.timeout(seconds), self._connection.request(method, path, **how) as response:
            content = await self._connection.content(response)
        if response.status != 200:
            raise self._fault(response, content)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InvalidAnswer(f"{method} {path} has no JSON for an answer") from error

    async def send(self, path: str, file: IO[bytes], kind: str) -> Any:
        """Posts a file of that content type."""
        headers = {"Content-Type": kind, "Content-Length": str(file.tell())}
        return await self.call("POST", path, seconds=FILE_SECONDS, data=_pieces(file), headers=headers)

    async def objects(self, path: str) -> AsyncGenerator[dict[str, Any]]:
        """Yields the lines that are JSON objects."""
        most = _LINES_A_REQUEST * self.form.requests
        async with asyncio.timeout(FILE_SECONDS), self._connection.request("GET", path) as response:
            if response.status != 200:
                raise self._fault(response, await self._connection.content(response))
            number = 0
            async for content in _split(response.content.iter_any()):
                number += 1
                if number > most:
                    raise InvalidAnswer(f"a file of replies has more than {most:,} lines")
                try:
                    line = json.loads(self._connection.key.without(content))
                except (ValueError, RecursionError):
                    continue
                if isinstance(line, dict):
                    yield line

    def _fault(self, response: aiohttp.ClientResponse, content: bytes) -> Exception:
        details = f"{response.method} {response.url.path}: {response.status}: {error_words(content)}"
        if response.method == "GET" and response.status in (404, 405):
            return Missing(details)
        if response.status == 404:
            return EndpointRefuses(f"{self._connection.where} has no batches ({details}): ask it without batch")
        after = retry_after(response.headers, time.time())
        fault = self._connection.fault(response.status, details, after, serves="batches")
        return EndpointRefuses(str(fault)) if isinstance(fault, ModelRefused) else fault


def read(kind: type[T], told: Any) -> T:
    try:
        return kind.model_validate(told)
    except ValidationError as error:
        raise InvalidAnswer(f"the endpoint describes no batch: {first_error(error)}") from error


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
