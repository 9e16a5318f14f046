"""The log file. A separate thread writes it, so that the event loop never waits for a transaction."""

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.embedded import records
from soliloquy.runtime.transports.embedded.alarm import Alarm

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]

PARTITIONS = 8
FORMAT = 3
# The format without the column `lineage`.
_EARLIER = 2
BUSY_SECONDS = 10.0
PURGE_EVERY_SECONDS = 0.25
EXPIRE_EVERY_SECONDS = 3600.0
# The thread checks for commits of other processes this often while it finds any, so that many are read together.
BUSY_WAIT_SECONDS = 0.01
# While it finds none, a write to the file wakes it. That comes just before the commit can be read, or not at all if the
# user has no inotify instance left: it checks again later and later.
LONGEST_WAIT_SECONDS, UNWATCHED_WAIT_SECONDS = 1.0, 0.02
# A checkpoint truncates the write-ahead file beyond this size.
WAL_BYTES = 4 * 1024 * 1024


class LogUnavailable(Failure):
    """The log cannot be read or written; the message says why and what to do."""


@dataclass(kw_only=True, slots=True)
class _Request:
    job: Job[Any]
    answer: "asyncio.Future[Any]"
    value: Any = None
    error: Exception | None = None


class Log:
    """Runs jobs on the file. Writes that arrive during a transaction share the next one.

    Reads run in the caller's thread: in WAL mode they never block, and a thread hop would cost more than the read.
    """

    def __init__(self, path: Path, *, on_append: Callable[[Collection[str]], None]) -> None:
        self.path = path
        # The last offset of each non-empty partition.
        self.ends: dict[tuple[str, int], int] = {}
        self.partitions = PARTITIONS
        self.installation = ""
        self._on_append = on_append
        self._requests: deque[_Request] = deque()
        self._alarm, self._closing = Alarm(), False
        self._loop = asyncio.get_running_loop()
        self._failure: LogUnavailable | None = None
        self._opened = asyncio.Event()
        # The last offset of the file, and SQLite's version of its data.
        self._end, self._version = 0, -1
        # The offset up to which each partition is purged.
        self._purged: dict[tuple[str, int], int] = {}
        self._thread = threading.Thread(target=self._serve, name="soliloquy-log", daemon=True)

    async def open(self) -> None:
        self._thread.start()
        await self._opened.wait()
        if self._failure:
            self._alarm.close()
        self.raise_failure()
        self._reader = _connected(self.path)

    async def close(self) -> None:
        self._reader.close()
        self._closing = True
        self._alarm.ring()
        await asyncio.to_thread(self._thread.join)
        self._alarm.close()

    def read(self, job: Job[T]) -> T:
        self.raise_failure()
        try:
            return job(self._reader)
        except sqlite3.Error as error:
            raise unavailable(self.path, error) from error

    def write(self, job: Job[T]) -> "asyncio.Future[T]":
        self.raise_failure()
        answer: asyncio.Future[T] = self._loop.create_future()
        self._requests.append(_Request(job=job, answer=answer))
        self._alarm.ring()
        return answer

    def raise_failure(self) -> None:
        if self._failure:
            raise self._failure

    # Everything below runs in the thread, except _deliver.

    def _serve(self) -> None:
        try:
            with closing(_connected(self.path)) as connection:
                self.partitions, self.installation = _prepared(connection, self.path)
                self._alarm.watch(self.path.with_name(f"{self.path.name}-wal"))
                self._post([], self._appended(connection))
                self._serve_requests(connection)
                self._purge(connection, spare=0.0)
        except (sqlite3.Error, LogUnavailable) as error:
            self._failure = unavailable(self.path, error)
            self._post([], {})

    def _serve_requests(self, connection: sqlite3.Connection) -> None:
        longest = LONGEST_WAIT_SECONDS if self._alarm.watches else UNWATCHED_WAIT_SECONDS
        wait, purge_at, expire_at, is_busy = BUSY_WAIT_SECONDS, 0.0, 0.0, True
        while not self._closing or self._requests:
            woken = self._alarm.wait(wait, for_writes=not is_busy)
            if requests := [self._requests.popleft() for _ in range(len(self._requests))]:
                self._run(connection, requests)
            try:
                # A write from here on wakes the next wait.
                self._alarm.forget()
                fresh = self._appended(connection, wrote=bool(requests))
                if requests and time.monotonic() >= purge_at:
                    self._purge(connection)
                    purge_at = time.monotonic() + PURGE_EVERY_SECONDS
                    if purge_at >= expire_at:
                        self._transact(connection, [records.expire])
                        expire_at = purge_at + EXPIRE_EVERY_SECONDS
            except sqlite3.Error as error:
                self._failure, fresh = unavailable(self.path, error), {}
            is_busy = bool(requests or fresh)
            wait = BUSY_WAIT_SECONDS if is_busy or woken else min(2 * wait, longest)
            if requests or fresh or self._failure:
                self._post(requests, fresh)

    def _purge(self, connection: sqlite3.Connection, spare: float = records.SPARE_SHARE) -> None:
        self._transact(connection, [partial(records.purge, purged=self._purged)])
        records.shrink(connection, spare)

    def _run(self, connection: sqlite3.Connection, requests: list[_Request]) -> None:
        try:
            values = self._transact(connection, [request.job for request in requests])
        except Exception as error:
            for request in requests:
                request.error = unavailable(self.path, error) if isinstance(error, sqlite3.Error) else error
        else:
            for request, value in zip(requests, values, strict=True):
                request.value = value

    def _transact(self, connection: sqlite3.Connection, jobs: list[Job[Any]]) -> list[Any]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            values = [job(connection) for job in jobs]
            connection.execute("COMMIT")
        except BaseException:
            # On a full disk SQLite has rolled back already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return values

    def _appended(self, connection: sqlite3.Connection, *, wrote: bool = False) -> dict[tuple[str, int], int]:
        """Returns the last offset of each partition that has grown."""
        # It changes only with commits of other processes.
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version == self._version and not wrote:
            return {}
        fresh = records.ends_after(connection, self._end)
        self._end, self._version = max(fresh.values(), default=self._end), version
        return fresh

    def _post(self, answered: list[_Request], fresh: dict[tuple[str, int], int]) -> None:
        self._loop.call_soon_threadsafe(self._deliver, answered, fresh)

    def _deliver(self, answered: list[_Request], fresh: dict[tuple[str, int], int]) -> None:
        self.ends.update(fresh)
        for request in answered:
            if request.answer.done():
                continue
            if request.error:
                request.answer.set_exception(request.error)
            else:
                request.answer.set_result(request.value)
        if fresh or self._failure:
            self._on_append({topic for topic, _ in fresh})
        self._opened.set()


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256)


def _prepared(connection: sqlite3.Connection, path: Path) -> tuple[int, str]:
    """Initialises the file if necessary and returns its number of partitions and its name."""
    # Only an empty file takes it.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
    connection.execute("PRAGMA cache_size = -16000")
    connection.execute("BEGIN IMMEDIATE")
    for statement in records.SCHEMA:
        connection.execute(statement)
    values = "('format', ?), ('partitions', ?), ('name', abs(random()))"
    connection.execute(f"INSERT OR IGNORE INTO setting VALUES {values}", (FORMAT, PARTITIONS))
    settings = dict(connection.execute("SELECT name, value FROM setting"))
    if settings["format"] == _EARLIER:
        connection.execute("ALTER TABLE event ADD COLUMN lineage TEXT NOT NULL DEFAULT ''")
        connection.execute("UPDATE setting SET value = ? WHERE name = 'format'", (FORMAT,))
        settings["format"] = FORMAT
    connection.execute("COMMIT")
    if settings["format"] != FORMAT:
        raise LogUnavailable(
            f"{path}: the log has format {settings['format']}, this version reads {FORMAT}: "
            "finish the run with the version that began it, or start in another folder"
        )
    return int(settings["partitions"]), f"log {settings['name']}"


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switches to WAL, with retries: SQLite does not wait when several processes switch at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(BUSY_WAIT_SECONDS)


def unavailable(path: Path, error: BaseException) -> LogUnavailable:
    """Explains an SQLite error in one line."""
    if isinstance(error, LogUnavailable):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    advice = {
        sqlite3.SQLITE_FULL: "the disk is full: free some space and start again, nothing that was finished is lost",
        sqlite3.SQLITE_BUSY: f"another program keeps it locked for over {BUSY_SECONDS:g} s: close what holds it open",
        sqlite3.SQLITE_NOTADB: "it is not an event log: move the file away or choose another folder",
        sqlite3.SQLITE_CORRUPT: "it is damaged: move the file away and start again; finished shards are kept",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists and that you may write there",
        sqlite3.SQLITE_READONLY: "it cannot be written: check the permissions of the file and its folder",
        sqlite3.SQLITE_IOERR: "the disk does not answer: check its health and free space, then start again",
    }.get(code, "the log cannot be used")
    return LogUnavailable(f"{path}: {advice} ({error})")
