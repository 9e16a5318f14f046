"""The common types of all readers: rows, rejected rows, and unreadable sources."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from soliloquy.runtime.failure import Failure


class UnreadableSource(Failure):
    """A source cannot be read; the message names the file and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRow:
    # "train.csv:12" for a file with lines, else "train.parquet row 12".
    place: str
    cells: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedRow:
    place: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.field}: {self.reason}"


MOST_NAMES = 30


def listed_names(names: Iterable[object]) -> str:
    """Returns the columns of a source for an error about a missing column."""
    known = [repr(name)[:40] for name in names]
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return (", ".join(known[:MOST_NAMES]) or "none") + more


def require_columns(place: object, columns: Iterable[str], names: Iterable[str]) -> None:
    there = list(names)
    for column in columns:
        if column not in there:
            found = f"no column {column!r}; there are: {listed_names(there)}"
            raise UnreadableSource(f"{place}: {found}; --columns says which is which")
