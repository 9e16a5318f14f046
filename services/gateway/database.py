"""Opens the gateway's database, SQLite or PostgreSQL, and brings its tables up to date."""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, MetaData, Table, create_engine, event, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.port import Unanswered

# Numbered from 1: each brings the tables from the version before to its own.
MIGRATIONS = [path.read_text("utf-8") for path in sorted(Path(__file__).with_name("migrations").glob("*.sql"))]
_TYPES = {
    "sqlite": {"bytes": "BLOB", "place": "INTEGER PRIMARY KEY AUTOINCREMENT"},
    # Without an index of the place alone, which the planner would follow through the rows of all runs.
    "postgresql": {"bytes": "BYTEA", "place": "BIGINT GENERATED ALWAYS AS IDENTITY"},
}
_NOW = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())",
}
_FORMS = "sqlite:////folder/file or postgresql://user@host/database"
# A statement that takes longer has met a lock or a disk that does not answer.
_PATIENCE_SECONDS = 20
_POSTGRES: dict[str, Any] = {
    "connect_timeout": 5,
    "tcp_user_timeout": 1_000 * _PATIENCE_SECONDS,
    # A process that stops in the middle of a transaction keeps no other from its lock.
    "options": f"-c statement_timeout={_PATIENCE_SECONDS}s -c idle_in_transaction_session_timeout=3s",
}
# As many as the engine keeps connections.
_THREADS = 5
# Any number that no other program locks.
_MIGRATING = 7_311_954_021


P = ParamSpec("P")
T = TypeVar("T")


class DatabaseUnavailable(Unanswered):
    """The database does not answer or does not take more right now; it may later."""


class Database:
    """Its methods block: `call` has its own threads for them, so that a database that hangs stops nothing else."""

    def __init__(self, url: str) -> None:
        """Without a URL the database is a temporary file. Raises Failure for a URL that names no database."""
        self._closing = ExitStack()
        if not url:
            folder = self._closing.enter_context(TemporaryDirectory(prefix="soliloquy-gateway-"))
            url = f"sqlite:///{folder}/gateway.db"
        self._engine = engine_of(url)
        self._closing.callback(self._engine.dispose)
        self._threads = self._closing.enter_context(ThreadPoolExecutor(_THREADS, "gateway-database"))
        # SQLite makes no folder.
        self._folder = Path(self._engine.url.database or "").parent if self._engine.name == "sqlite" else Path()
        self._name = url
        # SQLite's own lock lets writers sleep, and the next one may be any of them.
        self._one_writer = Lock() if self._engine.name == "sqlite" else nullcontext()
        self._tables: dict[str, Table] = {}

    def __getitem__(self, table: str) -> Table:
        return self._tables[table]

    async def call(self, job: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(job, *args, **options))

    def open(self) -> None:
        """Makes a file's folder; raises DatabaseUnavailable, and Failure for tables of a later version."""
        with self._explained():
            self._folder.mkdir(parents=True, exist_ok=True)
        with self._writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATING})"))
                # A migration may have to rewrite all that there is.
                connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"))
            if (found := connection.execute(text("SELECT version FROM schema_version")).scalar()) is None:
                connection.execute(text("INSERT INTO schema_version VALUES (0)"))
            self._check(found or 0)
            for migration in MIGRATIONS[found or 0 :]:
                for statement in migration.format(**_TYPES[connection.dialect.name]).strip().split(";\n"):
                    connection.exec_driver_sql(statement)
            connection.execute(text(f"UPDATE schema_version SET version = {len(MIGRATIONS)}"))
            known = MetaData()
            known.reflect(connection)
        self._tables = dict(known.tables)

    def close(self) -> None:
        self._closing.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Shows the same state to all statements of the transaction."""
        # SQLite knows no other way.
        isolation = {"isolation_level": "REPEATABLE READ"} if self._engine.name == "postgresql" else {}
        with self._explained(), self._engine.execution_options(**isolation).begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Holds all other writers off until the transaction is over, those of other gateways too."""
        with self._writing() as connection:
            version = self["schema_version"].c.version
            # A later version may have taken the database over meanwhile.
            self._check(connection.execute(select(version).with_for_update()).scalar_one(), at_work=True)
            yield connection

    def add(self, connection: Connection, table: str, column: str, rows: Iterable[dict[str, Any]]) -> set[Any]:
        """Inserts the rows of which the column names none that its run has, and returns these runs and names."""
        into = self[table]
        new = {(row["run"], row[column]): row for row in rows}
        named: defaultdict[str, list[str]] = defaultdict(list)
        for run, name in new:
            named[run].append(name)
        for run, names in named.items():
            there = select(into.c[column]).where(into.c.run == run, into.c[column].in_(names))
            for name in connection.execute(there).scalars():
                del new[run, name]
        if new:
            connection.execute(insert(into), list(new.values()))
        return set(new)

    def now(self, connection: Connection) -> float:
        """Returns the seconds since 1970 by the clock that all gateways on this database share."""
        return float(connection.execute(text(_NOW[connection.dialect.name])).scalar_one())

    def empty(self, connection: Connection, table: str) -> None:
        # SQLite has no word for it, and deletes all rows as fast.
        verb = "TRUNCATE" if connection.dialect.name == "postgresql" else "DELETE FROM"
        connection.execute(text(f"{verb} {table}"))

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        begin = self._engine.execution_options(begin="BEGIN IMMEDIATE").begin
        with self._explained(), self._one_writer, begin() as connection:
            yield connection

    def _check(self, found: int, *, at_work: bool = False) -> None:
        if found > len(MIGRATIONS) or (at_work and found != len(MIGRATIONS)):
            raise Failure(
                f"the gateway's database {self._name} has tables of version {found}, and this release knows "
                f"{len(MIGRATIONS)}: install the release that made them, or name another --database"
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            said = str(error.orig if isinstance(error, DBAPIError) else error).strip()
            line = said.splitlines()[0] if said else type(error).__name__
            raise DatabaseUnavailable(f"the gateway's database {self._name} fails: {line}") from error


def engine_of(url: str) -> Engine:
    """Connects nothing yet; raises Failure for a URL that names no database of ours."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise Failure(f"invalid database {url!r}: use {_FORMS}") from error
    if parsed.drivername == "sqlite" and parsed.database:
        engine = create_engine(parsed, connect_args={"timeout": _PATIENCE_SECONDS})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if parsed.drivername != "postgresql":
        raise Failure(f"invalid database {parsed.render_as_string(hide_password=True)!r}: use {_FORMS}")
    if parsed.password or "password" in parsed.query:
        raise Failure("--database has a password, which others can see: name it in PGPASSWORD, or a file in PGPASSFILE")
    parsed = parsed.set(drivername="postgresql+psycopg2")
    return create_engine(parsed, connect_args=_POSTGRES, pool_pre_ping=True)


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    # The driver begins no transaction by itself.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    # A power cut may take the latest transactions, whose positions go with their rows.
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
