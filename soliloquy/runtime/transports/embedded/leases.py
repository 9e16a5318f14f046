"""Leases decide which member of a group may commit to a partition."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.embedded.records import append
from soliloquy.runtime.transports.port import Partition

# A member that has not renewed for this long counts as dead; a live one renews several times.
LEASE_SECONDS = 2.5
RENEW_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseShare:
    """The epochs of the partitions that a member holds, and the partitions that it should release."""

    epochs: Mapping[int, int]
    surplus: Sequence[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Advance:
    """A partition's new position after a batch of results, and their outputs."""

    partition: Partition
    epoch: int
    watermark: int
    # Offsets that this batch finished beyond the watermark; whether the watermark passed earlier ones.
    ahead: Sequence[int]
    overtakes: bool
    outputs: Sequence[Event]


def join(connection: sqlite3.Connection, group: str, topics: Collection[str], partitions: int) -> None:
    numbers = range(partitions)
    connection.executemany(
        "INSERT OR IGNORE INTO lease VALUES (?, ?, NULL, 0)", [(group, number) for number in numbers]
    )
    connection.executemany(
        "INSERT OR IGNORE INTO position VALUES (?, ?, ?, 0)",
        [(group, topic, number) for topic in topics for number in numbers],
    )


def renew(connection: sqlite3.Connection, group: str, member: str, now: float) -> LeaseShare:
    """Renews the membership and claims a fair share of the free partitions."""
    connection.execute("INSERT OR REPLACE INTO member VALUES (?, ?, ?)", (group, member, now + LEASE_SECONDS))
    connection.execute("DELETE FROM member WHERE grp = ? AND expires < ?", (group, now))
    connection.execute(
        """
        UPDATE lease SET member = NULL
        WHERE grp = :group AND member IS NOT NULL AND member NOT IN (SELECT name FROM member WHERE grp = :group)
        """,
        {"group": group},
    )
    members = [name for (name,) in connection.execute("SELECT name FROM member WHERE grp = ? ORDER BY name", (group,))]
    leases = connection.execute("SELECT partition, member, epoch FROM lease WHERE grp = ?", (group,)).fetchall()
    share, left_over = divmod(len(leases), len(members))
    fair = share + (members.index(member) < left_over)
    epochs = {number: epoch for number, owner, epoch in leases if owner == member}
    free = [(number, epoch) for number, owner, epoch in leases if owner is None]
    for number, epoch in free[: max(0, fair - len(epochs))]:
        connection.execute(
            "UPDATE lease SET member = ?, epoch = ? WHERE grp = ? AND partition = ?", (member, epoch + 1, group, number)
        )
        epochs[number] = epoch + 1
    return LeaseShare(epochs=epochs, surplus=sorted(epochs)[fair:])


def release(connection: sqlite3.Connection, group: str, member: str, numbers: Collection[int]) -> None:
    connection.executemany(
        "UPDATE lease SET member = NULL WHERE grp = ? AND member = ? AND partition = ?",
        [(group, member, number) for number in numbers],
    )


def leave(connection: sqlite3.Connection, group: str, member: str) -> None:
    connection.execute("DELETE FROM member WHERE grp = ? AND name = ?", (group, member))
    connection.execute("UPDATE lease SET member = NULL WHERE grp = ? AND member = ?", (group, member))


def positions(
    connection: sqlite3.Connection, group: str, partitions: Sequence[Partition]
) -> list[tuple[int, list[int]]]:
    """Returns each partition's watermark and the finished offsets beyond it."""
    found = []
    for partition in partitions:
        place = (group, *partition)
        ((watermark,),) = connection.execute(
            "SELECT watermark FROM position WHERE grp = ? AND topic = ? AND partition = ?", place
        )
        ahead = connection.execute("SELECT offset FROM ahead WHERE grp = ? AND topic = ? AND partition = ?", place)
        found.append((watermark, [offset for (offset,) in ahead]))
    return found


def commit(
    connection: sqlite3.Connection, group: str, member: str, advances: Sequence[Advance], partitions: int
) -> set[int]:
    """Appends outputs and moves positions. Returns the partition numbers whose lease the member has lost."""
    held = dict(connection.execute("SELECT partition, epoch FROM lease WHERE grp = ? AND member = ?", (group, member)))
    fenced = {advance.partition.number for advance in advances if held.get(advance.partition.number) != advance.epoch}
    kept = [advance for advance in advances if advance.partition.number not in fenced]
    append(connection, [event for advance in kept for event in advance.outputs], partitions)
    connection.executemany(
        "UPDATE position SET watermark = ? WHERE grp = ? AND topic = ? AND partition = ?",
        [(advance.watermark, group, *advance.partition) for advance in kept],
    )
    connection.executemany(
        "DELETE FROM ahead WHERE grp = ? AND topic = ? AND partition = ? AND offset <= ?",
        [(group, *advance.partition, advance.watermark) for advance in kept if advance.overtakes],
    )
    connection.executemany(
        "INSERT INTO ahead VALUES (?, ?, ?, ?)",
        [(group, *advance.partition, offset) for advance in kept for offset in advance.ahead],
    )
    return fenced
