"""The batches of the stand-in: works on a batch after a while, and fails at batches as real endpoints do."""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from aiohttp import web
from pydantic import BaseModel

from soliloquy.runtime.model.batch_api import OVER
from soliloquy.runtime.model.dialects import BatchForm
from soliloquy.runtime.model.openai_client import PROMPT_HEADER, SEED_HEADER
from soliloquy.runtime.seeds import draw
from soliloquy_services.model.fake import RefusedRequest

# Works on a request: returns the status and the body of its answer.
Work = Callable[[dict[str, Any], Mapping[str, str]], Awaitable[tuple[int, Any]]]
# How many requests of a batch are worked on before others have a turn.
_AT_ONCE = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchFaults:
    """The share of batches, or of their lines, that have each fault."""

    # Works on half of the batch, and expires, or is cancelled by somebody else.
    expired: float = 0.0
    cancelled: float = 0.0
    # Is forgotten before it is worked on.
    lost: float = 0.0
    # Is made, and the reply that says so gets lost.
    unheard: float = 0.0
    # A line may be a 500, be missing, or be there twice.
    line_failed: float = 0.0
    line_missing: float = 0.0
    line_repeated: float = 0.0


BATCH_FAULTS = tuple(fault.name for fault in fields(BatchFaults))


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A request of a batch."""

    request: str
    body: dict[str, Any]


@dataclass(kw_only=True, eq=False)
class Batch:
    number: int
    lines: Sequence[Line]
    created: float = field(default_factory=time.time)
    # validating, in_progress, finalizing; completed, expired, cancelled, failed.
    status: str = "validating"
    # Why it was not begun with.
    flaw: str = ""
    # Whatever its maker wants to know it by.
    metadata: dict[str, Any] | None = None
    is_lost: bool = False
    working: asyncio.Task[None] | None = None
    # The id of a request, the status and the body of its answer: one that was not worked on has none.
    replies: list[tuple[str, int, Any]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.status in OVER

    @property
    def unanswered(self) -> Iterator[Line]:
        replied = {request for request, _, _ in self.replies}
        return (line for line in self.lines if line.request not in replied)


class FakeBatches:
    def __init__(self, work: Work, faults: BatchFaults, *, seconds: float, seed: int) -> None:
        """`seconds` is how long a batch takes."""
        self._work = work
        self._faults = faults
        self._seconds = seconds
        self._seed = seed
        self.made: list[Batch] = []

    async def close(self) -> None:
        for batch in self.made:
            if batch.working:
                batch.working.cancel()

    def known(self, number: str) -> Batch | None:
        """Returns the batch of that number, unless it is lost."""
        place = int(number) - 1 if number.isdecimal() else -1
        batch = self.made[place] if 0 <= place < len(self.made) else None
        return None if batch is None or batch.is_lost else batch

    def newest_first(self) -> list[Batch]:
        return [batch for batch in reversed(self.made) if not batch.is_lost]

    def create(self, lines: Sequence[Line], flaw: str, metadata: dict[str, Any] | None) -> tuple[Batch, bool]:
        """Makes a batch; returns whether the reply that says so arrives."""
        chance = draw("batch", self._seed, len(self.made))
        batch = Batch(number=len(self.made) + 1, lines=lines, flaw=flaw, metadata=metadata)
        self.made.append(batch)
        if flaw:
            batch.status = "failed"
        else:
            faults = self._faults
            is_lost, expires = (chance.random() < share for share in (faults.lost, faults.expired))
            is_cancelled = chance.random() < faults.cancelled
            end = "expired" if expires else "cancelled" if is_cancelled else "completed"
            batch.working = asyncio.create_task(self._run(batch, is_lost=is_lost, end=end))
        return batch, chance.random() >= self._faults.unheard

    async def cancel(self, batch: Batch) -> None:
        if batch.working and not batch.working.done():
            batch.working.cancel()
            with suppress(asyncio.CancelledError):
                await batch.working
            batch.status = "cancelled"

    async def _run(self, batch: Batch, *, is_lost: bool, end: str) -> None:
        await asyncio.sleep(self._seconds / 2)
        if is_lost:
            batch.is_lost = True
            return
        batch.status = "in_progress"
        # Lines come back in any order.
        lines = draw("order", self._seed, batch.number).sample(batch.lines, len(batch.lines))
        for place, line in enumerate(lines if end == "completed" else lines[: len(lines) // 2]):
            await self._answer(batch, line)
            if place % _AT_ONCE == 0:
                await asyncio.sleep(0)
        batch.status = "finalizing"
        await asyncio.sleep(self._seconds / 2)
        batch.status = end

    async def _answer(self, batch: Batch, line: Line) -> None:
        faults = self._faults
        chance = draw("line", self._seed, batch.number, line.request)
        if chance.random() < faults.line_missing:
            return
        if chance.random() < faults.line_failed:
            status, body = 500, {"error": {"message": "The server had an error", "code": "internal_error"}}
        else:
            status, body = await self._work(line.body, headers_of(line.request))
        times = 2 if chance.random() < faults.line_repeated else 1
        batch.replies += [(line.request, status, body)] * times


class BatchRoutes(ABC):
    """The batches of one form; raises RefusedRequest for what its endpoints refuse."""

    name: str
    path: str
    cursor: str

    def __init__(self, batches: FakeBatches, form: BatchForm) -> None:
        self._batches = batches
        self._form = form

    def add_to(self, router: web.UrlDispatcher, path: str) -> None:
        place = path + self.path
        router.add_post(place, self._create)
        router.add_get(place, self._list)
        router.add_get(f"{place}/{{batch}}", self._show)
        router.add_post(f"{place}/{{batch}}/cancel", self._cancel)

    @abstractmethod
    async def asked(self, request: web.Request) -> tuple[Sequence[Line], str, dict[str, Any] | None]:
        """Returns the requests of a batch, why it cannot be begun with, and its metadata."""

    @abstractmethod
    def told(self, batch: Batch) -> BaseModel: ...

    def id_of(self, batch: Batch) -> str:
        return f"{self.name}_{batch.number}"

    def known(self, name: str) -> Batch:
        if not (batch := self._batches.known(name.removeprefix(f"{self.name}_"))):
            raise RefusedRequest(404, "No such batch")
        return batch

    def check_size(self, content: bytes) -> None:
        if len(content) > self._form.bytes:
            raise RefusedRequest(413, f"Request exceeds the maximum size of {self._form.bytes:,} bytes")

    def flaw_of(self, lines: Sequence[Line]) -> str:
        """Returns why a batch cannot be begun with; empty if it can."""
        if len(lines) > self._form.requests:
            return f"more than {self._form.requests:,} requests"
        return "a custom_id appears twice" if len({line.request for line in lines}) < len(lines) else ""

    async def _create(self, request: web.Request) -> web.StreamResponse:
        batch, arrives = self._batches.create(*await self.asked(request))
        if not arrives and request.transport:
            request.transport.close()
        return self._answer(batch)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        known = self._batches.newest_first()
        names = [self.id_of(batch) for batch in known]
        after = request.query.get(self.cursor, "")
        first = names.index(after) + 1 if after in names else 0
        page = known[first : first + int(request.query.get("limit", 20))]
        told = [self.told(batch).model_dump(mode="json") for batch in page]
        return web.json_response({"data": told, "has_more": first + len(page) < len(known)})

    async def _show(self, request: web.Request) -> web.StreamResponse:
        return self._answer(self.known(request.match_info["batch"]))

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self.known(request.match_info["batch"])
        await self._batches.cancel(batch)
        return self._answer(batch)

    def _answer(self, batch: Batch) -> web.StreamResponse:
        return web.json_response(text=self.told(batch).model_dump_json())


def jsonl(lines: Sequence[Any]) -> web.StreamResponse:
    return web.Response(body="".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())


def headers_of(request: str) -> dict[str, str]:
    """Returns the headers that a request would have alone: our own ids name the prompt and the seed."""
    prompt, *rest = request.rsplit("-", 2)
    if len(rest) < 2:
        return {}
    return {PROMPT_HEADER: prompt.replace("--", "/"), SEED_HEADER: str(int(rest[0], 16))}
