"""The log's events in SQL: append, fetch, count, remove."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from soliloquy.runtime.events import Event, partition_key
from soliloquy.runtime.retry import replayed
from soliloquy.runtime.seeds import seed
from soliloquy.runtime.topics import DLQ, RETRY, TOPICS, shapes
from soliloquy.runtime.transports.port import Backlog, Delivery, Lag, Partition

SCHEMA = [
    statement for statement in Path(__file__).with_name("schema.sql").read_text("utf-8").split(";\n") if statement
]
_TABLES = [topic.name for topic in TOPICS.values() if topic.keep == "latest"]
# SQLite uses a partial index only for a query whose text names one of its topics.
_OF_TABLES = " OR ".join(f"topic = '{name}'" for name in _TABLES)
SCHEMA.append(f"CREATE INDEX IF NOT EXISTS event_key ON event (key, offset) WHERE {_OF_TABLES}")
# For how many seconds topics for people keep an event. Services rely on no clock for what others hold.
_EXPIRING = {
    shape.topic: int(shape.configs["retention.ms"]) / 1000
    for shape in shapes()
    if shape.topic in TOPICS and TOPICS[shape.topic].keep == "record"
}

# The columns that hold an attribute of the event as it is.
_ATTRIBUTES = ("id", "key", "source", "time", "traceparent", "attempt", "not_before", "error", "payload", "lineage")
COLUMNS = ", ".join(["offset", "topic", "partition", "began", *_ATTRIBUTES])
_VALUES = "(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_attributes = attrgetter(*_ATTRIBUTES)
# Rows per statement: SQLite prepares a statement for every number of rows.
_MOST_ROWS = 64
READ_PAGE = 256
PURGE_LIMIT = 8000
# Free pages below this share of the file wait for new events: giving them back costs more than it saves.
SPARE_SHARE = 0.75


def partition_of(key: str, partitions: int) -> int:
    return seed(partition_key(key)) % partitions


def _row(event: Event, partitions: int) -> tuple[str | int | float | bytes, ...]:
    return (event.topic, partition_of(event.key, partitions), json.dumps(event.began), *_attributes(event))


def append(connection: sqlite3.Connection, events: Sequence[Event], partitions: int) -> None:
    for start in range(0, len(events), _MOST_ROWS):
        some = events[start : start + _MOST_ROWS]
        # One statement for many rows, because each statement releases and reacquires the GIL.
        connection.execute(
            f"INSERT INTO event ({COLUMNS}) VALUES {', '.join([_VALUES] * len(some))}",
            [value for event in some for value in _row(event, partitions)],
        )
    latest = {(event.topic, event.key) for event in events if _keep(event.topic) == "latest"}
    for topic, key in latest:
        row = f"FROM event WHERE topic = '{topic}' AND key = ?"
        connection.execute(f"DELETE {row} AND offset < (SELECT max(offset) {row})", (key, key))


def fetch(
    connection: sqlite3.Connection, places: Sequence[tuple[Partition, int]], limit: int
) -> list[tuple[Partition, list[Delivery]]]:
    """Returns at most `limit` deliveries, from each partition those after the given offset."""
    found = []
    for partition, after in places:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM event WHERE topic = ? AND partition = ? AND offset > ? ORDER BY offset LIMIT ?",
            (*partition, after, limit),
        ).fetchall()
        found.append((partition, [delivery(row, partition) for row in rows]))
        limit -= len(rows)
        if limit <= 0:
            break
    return found


def page(
    connection: sqlite3.Connection,
    topic: str,
    after: int,
    until: int,
    numbers: Collection[int] | None = None,
    starts: Mapping[int, int] | None = None,
) -> list[Delivery]:
    """Returns the next deliveries of a topic, or of the partitions `numbers` of it, in the order of publication.

    A partition in `starts` begins at that offset.
    """
    chosen = f"AND partition IN ({', '.join(str(int(number)) for number in numbers)})" if numbers is not None else ""
    for number, start in (starts or {}).items():
        chosen += f" AND NOT (partition = {int(number)} AND offset < {int(start)})"
    # NOT INDEXED, because the index orders by partition within a topic.
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM event NOT INDEXED"
        f" WHERE offset > ? AND offset <= ? AND topic = ? {chosen} ORDER BY offset LIMIT ?",
        (after, until, topic, READ_PAGE),
    )
    return [delivery(row, Partition(row[1], row[2])) for row in rows]


def delivery(row: tuple[Any, ...], partition: Partition) -> Delivery:
    offset, topic, _, began, *attributes = row
    event = Event(topic=topic, began=json.loads(began), **dict(zip(_ATTRIBUTES, attributes, strict=True)))
    return Delivery(event=event, partition=partition, offset=offset)


def end(connection: sqlite3.Connection) -> int:
    ((last,),) = connection.execute("SELECT coalesce(max(offset), 0) FROM event")
    return int(last)


def next_offsets(connection: sqlite3.Connection, topic: str, partitions: int) -> dict[int, int]:
    """Returns the offset after the last event of each partition; 0 for one that holds none."""
    rows = connection.execute(
        "SELECT partition, max(offset) + 1 FROM event WHERE topic = ? GROUP BY partition", (topic,)
    )
    return dict.fromkeys(range(partitions), 0) | dict(rows.fetchall())


def ends_after(connection: sqlite3.Connection, offset: int) -> dict[tuple[str, int], int]:
    """Returns the last offset of each partition that has grown beyond `offset`."""
    rows = connection.execute(
        "SELECT topic, partition, max(offset) FROM event NOT INDEXED WHERE offset > ? GROUP BY topic, partition",
        (offset,),
    )
    return {(topic, partition): last for topic, partition, last in rows}


def unfinished_keys(connection: sqlite3.Connection, group: str, partition: Partition) -> Counter[str]:
    rows = connection.execute(
        """
        SELECT key, count(*) FROM event JOIN position USING (topic, partition)
        WHERE topic = :topic AND partition = :partition AND grp = :group AND offset > watermark
          AND offset NOT IN (
            SELECT offset FROM ahead WHERE grp = :group AND topic = :topic AND partition = :partition
          )
        GROUP BY key
        """,
        {"group": group, **partition._asdict(), "partition": partition.number},
    )
    return Counter(dict(rows))


def backlog(connection: sqlite3.Connection) -> list[Backlog]:
    """Returns the backlog of every group and topic."""
    counted: dict[tuple[str, str], tuple[int, float]] = {}
    for group, topic, number, watermark in connection.execute("SELECT * FROM position").fetchall():
        of_partition = _lag(connection, group, Partition(topic, number), watermark)
        events, oldest = counted.get((group, topic), (0, 0.0))
        counted[group, topic] = (events + of_partition.events, max(oldest, of_partition.oldest_seconds))
    return [
        Backlog(group=group, topic=topic, events=events, oldest_seconds=oldest)
        for (group, topic), (events, oldest) in counted.items()
    ]


def lag(connection: sqlite3.Connection, group: str, partitions: Collection[Partition]) -> list[Lag]:
    """Returns the group's lag in these partitions."""
    watermarks = {
        Partition(topic, number): watermark
        for topic, number, watermark in connection.execute(
            "SELECT topic, partition, watermark FROM position WHERE grp = ?", (group,)
        )
    }
    return [_lag(connection, group, partition, watermarks[partition]) for partition in partitions]


def _lag(connection: sqlite3.Connection, group: str, partition: Partition, watermark: int) -> Lag:
    ((events,),) = connection.execute(
        "SELECT count(*) FROM event WHERE topic = ? AND partition = ? AND offset > ?", (*partition, watermark)
    )
    ((ahead,),) = connection.execute(
        "SELECT count(*) FROM ahead WHERE grp = ? AND topic = ? AND partition = ?", (group, *partition)
    )
    first = connection.execute(
        "SELECT time FROM event WHERE topic = ? AND partition = ? AND offset > ? ORDER BY offset LIMIT 1",
        (*partition, watermark),
    ).fetchone()
    age = max(0.0, time.time() - first[0]) if first and events > ahead else 0.0
    return Lag(partition=partition, events=events - ahead, oldest_seconds=age)


def dead_letters(connection: sqlite3.Connection) -> dict[str, int]:
    counts = {
        topic + DLQ: connection.execute("SELECT count(*) FROM event WHERE topic = ?", (topic + DLQ,)).fetchone()[0]
        for topic in TOPICS
    }
    return {topic: count for topic, count in counts.items() if count}


def replay(connection: sqlite3.Connection, letters: Sequence[Delivery], partitions: int) -> None:
    # Another process may be replaying some of them.
    append(connection, [replayed(letter.event) for letter in discard(connection, letters)], partitions)


def discard(connection: sqlite3.Connection, letters: Sequence[Delivery]) -> list[Delivery]:
    """Deletes letters, and returns those that were there."""
    one = "DELETE FROM event WHERE offset = ? AND id = ?"
    return [letter for letter in letters if connection.execute(one, (letter.offset, letter.event.id)).rowcount]


def purge(connection: sqlite3.Connection, purged: dict[tuple[str, int], int]) -> None:
    """Deletes a bounded number of events that every group has passed.

    `purged` holds the offsets that earlier calls reached, and is updated.
    """
    passed = connection.execute("SELECT topic, partition, min(watermark) FROM position GROUP BY topic, partition")
    left = PURGE_LIMIT
    for topic, partition, watermark in passed.fetchall():
        if left > 0 and _keep(topic) == "until-read" and purged.get((topic, partition), 0) < watermark:
            removed = connection.execute(
                """
                DELETE FROM event WHERE offset IN (
                  SELECT offset FROM event WHERE topic = ? AND partition = ? AND offset <= ? ORDER BY offset LIMIT ?
                )
                """,
                (topic, partition, watermark, left),
            ).rowcount
            if removed < left:
                purged[topic, partition] = watermark
            left -= removed


def expire(connection: sqlite3.Connection) -> None:
    """Deletes the records whose time is over."""
    for topic, seconds in _EXPIRING.items():
        connection.execute("DELETE FROM event WHERE topic = ? AND time < ?", (topic, time.time() - seconds))


def shrink(connection: sqlite3.Connection, spare: float = SPARE_SHARE) -> None:
    """Gives free pages back beyond this share of the file; not within a transaction."""
    ((pages,),), ((free,),) = (connection.execute(f"PRAGMA {of}").fetchall() for of in ("page_count", "freelist_count"))
    if free > spare * pages:
        # As a script, because `execute` ends the statement after its first page.
        connection.executescript(f"PRAGMA incremental_vacuum({free - int(spare * pages)})")


def _keep(topic: str) -> str:
    """Returns a topic's retention; dead letters stay until they are replayed."""
    if topic.endswith(RETRY):
        return "until-read"
    return TOPICS[topic].keep if topic in TOPICS else "until-replayed"
