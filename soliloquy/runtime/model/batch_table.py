"""The requests that a run asks in batches, and its batches: durable, in the file of the run's accounts.

A request waits without a batch, then stands in one, and has a reply in the end, which stays as long as the run.
Taking in a reply and billing it are one transaction, so each is billed once, whoever is killed.
"""

import hashlib
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from soliloquy.runtime.model.openai_format import encoded
from soliloquy.runtime.model.remote import TRIES
from soliloquy.runtime.model.samples import seeds_of
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.model.spending import BudgetUsed, Spending, most_of
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

_TABLES = """
CREATE TABLE IF NOT EXISTS asked (
    request TEXT PRIMARY KEY, endpoint, role, model, tokens, dollars, unpriced, body, size,
    since REAL, batch, tries NOT NULL DEFAULT 0, status INTEGER, reply
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS waiting ON asked (endpoint, since, size) WHERE batch IS NULL AND status IS NULL;
CREATE INDEX IF NOT EXISTS in_batch ON asked (batch) WHERE batch IS NOT NULL;
CREATE TABLE IF NOT EXISTS replied (number INTEGER PRIMARY KEY AUTOINCREMENT, request);
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY, endpoint, requests, created REAL, file, posted REAL, remote, outcome
);
"""
# How a batch ended: complete, without a trace, or before the endpoint began to work on it or was done with it.
ENDED, LOST, UNDONE = "ended", "lost", "undone"
ANSWERED = 200
# Every endpoint takes such ids of requests in a batch.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Waiting(NamedTuple):
    """The requests that no batch has yet: their number and bytes, and when the oldest began to wait."""

    requests: int
    bytes: int
    since: float


@dataclass(frozen=True, slots=True)
class Batch:
    id: str
    requests: int
    created: float
    # The endpoint's names of the file and of the batch; empty as long as it has none.
    file: str = ""
    remote: str = ""
    # When the endpoint was asked to make it; 0 if it was not.
    posted: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A batch's result for one of its requests."""

    request: str
    status: int
    reply: bytes = b""
    # An answer that can be read; None if it cannot, or if this is none.
    completion: Completion | None = None
    # Whether the request is asked again, and whether that counts as one of its tries.
    again: bool = False
    is_try: bool = True


def request_id(request: GenerateRequest, body: Mapping[str, Any]) -> str:
    """Returns the same id for the same request, with the prompt and the seed for people and for a stand-in."""
    told = hashlib.sha256(repr((request.prompt, seeds_of(request))).encode() + encoded(body)).hexdigest()
    named = f"{request.prompt.replace('/', '--')}-{request.seed:x}-{told[:20]}"
    return named if _ID.fullmatch(named) else told


class BatchTable:
    def __init__(self, spending: Spending) -> None:
        self._spending = spending
        self._file = spending.file
        with spending.reporting():
            self._file.executescript(_TABLES)

    # For those who ask.

    def ask(self, name: str, endpoint: Endpoint, request: GenerateRequest, body: Mapping[str, Any]) -> str:
        """Puts a request, unless it is there. One that was refused or failed is asked anew. Raises BudgetUsed."""
        identity, content = request_id(request, body), encoded(body)
        if self._is_asked(identity):
            return identity
        row = (identity, name, request.role, body["model"], *most_of(endpoint, request), content, len(content))
        with self._spending.transaction():
            self._spending.check()
            self._file.execute(
                "INSERT INTO asked (request, endpoint, role, model, tokens, dollars, unpriced, body, size, since) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body, "
                "since = excluded.since, tries = 0, batch = NULL, status = NULL, reply = NULL",
                (*row, time.time()),
            )
        return identity

    def _is_asked(self, request: str) -> bool:
        found = self._rows("SELECT status FROM asked WHERE request = ?", request)
        return bool(found) and found[0][0] in (None, ANSWERED)

    def reply(self, request: str) -> tuple[int, bytes] | None:
        found = self._rows("SELECT status, reply FROM asked WHERE request = ? AND status IS NOT NULL", request)
        return found[0] if found else None

    def replied(self, after: int) -> list[tuple[int, str]]:
        """Returns which requests have a reply since a number, with theirs."""
        return self._rows("SELECT number, request FROM replied WHERE number > ? ORDER BY number", after)

    @property
    def last_reply(self) -> int:
        return int(self._rows("SELECT COALESCE(MAX(number), 0) FROM replied")[0][0])

    # For the sender of batches.

    @property
    def has_budget(self) -> bool:
        try:
            with self._spending.reporting():
                self._spending.check()
        except BudgetUsed:
            return False
        return True

    def waiting(self, name: str) -> Waiting:
        [row] = self._rows(
            "SELECT COUNT(*), COALESCE(SUM(size), 0), COALESCE(MIN(since), 0) FROM asked "
            "WHERE endpoint = ? AND batch IS NULL AND status IS NULL",
            name,
        )
        return Waiting(*row)

    def open_batches(self, name: str) -> list[Batch]:
        rows = self._rows(
            "SELECT id, requests, created, COALESCE(file, ''), COALESCE(remote, ''), COALESCE(posted, 0.0) "
            "FROM batches WHERE endpoint = ? AND outcome IS NULL ORDER BY created, id",
            name,
        )
        return [Batch(*row) for row in rows]

    def fill(self, name: str, requests: int, size: int) -> Batch:
        """Makes a batch of the requests that wait longest: at most so many, of so many bytes. Raises BudgetUsed."""
        identity, now = uuid.uuid4().hex, time.time()
        with self._spending.transaction():
            self._spending.check()
            chosen: list[str] = []
            total = 0
            for request, length in self._file.execute(
                "SELECT request, size FROM asked WHERE endpoint = ? AND batch IS NULL AND status IS NULL "
                "ORDER BY since LIMIT ?",
                (name, requests),
            ):
                if chosen and total + length > size:
                    break
                chosen.append(request)
                total += length
            self._file.executemany("UPDATE asked SET batch = ? WHERE request = ?", [(identity, one) for one in chosen])
            self._file.execute(
                "INSERT INTO batches (id, endpoint, requests, created) VALUES (?, ?, ?, ?)",
                (identity, name, len(chosen), now),
            )
        return Batch(id=identity, requests=len(chosen), created=now)

    def lines(self, batch: Batch) -> Iterator[tuple[str, bytes]]:
        """Yields the requests of a batch with their bodies."""
        with self._spending.reporting():
            yield from self._file.execute(
                "SELECT request, body FROM asked WHERE batch = ? AND status IS NULL", (batch.id,)
            )

    def note(self, batch: Batch, **facts: Any) -> None:
        """Notes what was learned about a batch: its file, when it was posted, its name at the endpoint."""
        changes = ", ".join(f"{name} = ?" for name in facts)
        with self._spending.transaction():
            self._file.execute(f"UPDATE batches SET {changes} WHERE id = ?", (*facts.values(), batch.id))

    def batches_of(self, request: str) -> set[str]:
        """Returns the batch that a request is in, or "" if it is in none; nothing for a request of others."""
        return {batch or "" for (batch,) in self._rows("SELECT batch FROM asked WHERE request = ?", request)}

    def size(self, batch: Batch) -> int:
        """Returns how many requests of a batch have no reply."""
        [(requests,)] = self._rows("SELECT COUNT(*) FROM asked WHERE batch = ? AND status IS NULL", batch.id)
        return int(requests)

    def knows(self, remote: str) -> bool:
        return bool(self._rows("SELECT 1 FROM batches WHERE remote = ?", remote))

    def take_in(self, batch: Batch, endpoint: Endpoint, lines: Iterable[Line]) -> None:
        """Keeps and bills replies; a line that was taken in before changes nothing."""
        with self._spending.transaction():
            for line in lines:
                self._take_in(batch, endpoint, line)

    def _take_in(self, batch: Batch, endpoint: Endpoint, line: Line) -> None:
        query = "SELECT batch, status, tries, endpoint, role, model, tokens, dollars, unpriced FROM asked"
        for inside, status, tries, *row in self._rows(f"{query} WHERE request = ?", line.request):
            if inside != batch.id or status is not None:
                # It was taken in before, and may have gone into another batch.
                continue
            if line.completion:
                name, role, model, *_ = row
                self._spending.count_answer((name, role, model), endpoint, line.completion)
            elif line.status == ANSWERED:
                self._spending.count_lost(row)
            if line.again and tries + line.is_try < TRIES:
                self._wait("request = ?", line.request, tries=int(line.is_try))
            elif line.again and line.status == ANSWERED:
                self._reply(Line(request=line.request, status=500, reply=b"no answer that can be read"))
            else:
                self._reply(line)

    def _reply(self, line: Line) -> None:
        self._file.execute(
            "UPDATE asked SET status = ?, reply = ?, body = NULL, batch = NULL WHERE request = ?",
            (line.status, line.reply, line.request),
        )
        self._file.execute("INSERT INTO replied (request) VALUES (?)", (line.request,))

    def _wait(self, which: str, value: str, *, tries: int) -> None:
        self._file.execute(
            f"UPDATE asked SET batch = NULL, since = ?, tries = tries + ? WHERE {which} AND status IS NULL",
            (time.time(), tries, value),
        )

    def end(self, batch: Batch, outcome: str) -> None:
        """Ends a batch: the requests that it left without a reply wait for another one.

        Nobody knows what a lost one billed, or one that is complete without them. A request that was left so too often
        has a reply that says so.
        """
        is_try = outcome == ENDED
        with self._spending.transaction():
            for request, tries, *row in self._file.execute(
                "SELECT request, tries, endpoint, role, model, tokens, dollars, unpriced FROM asked "
                "WHERE batch = ? AND status IS NULL",
                (batch.id,),
            ).fetchall():
                if outcome in (LOST, ENDED):
                    self._spending.count_lost(row)
                if is_try and tries + 1 >= TRIES:
                    self._reply(Line(request=request, status=500, reply=b"the batch has no line for it"))
            self._wait("batch = ?", batch.id, tries=int(is_try))
            self._file.execute("UPDATE batches SET outcome = ? WHERE id = ?", (outcome, batch.id))

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._spending.reporting():
            return self._file.execute(query, values).fetchall()
