"""Which questions and ids there were before, for any number of them."""

import sqlite3
from typing import Self

from soliloquy.runtime.seeds import digest


class Seen:
    """On the disk, in a file that nobody else sees: a hundred million rows would not fit into the memory."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        # Nothing of it is wanted after a crash.
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE seen (hash TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def first(self, field: str, value: str, place: str) -> str | None:
        """The place that had this value first, if another did."""
        key = digest(field, value)
        if self._database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (key, place)).rowcount:
            return None
        found = self._database.execute("SELECT place FROM seen WHERE hash = ?", (key,)).fetchone()
        return str(found[0])
