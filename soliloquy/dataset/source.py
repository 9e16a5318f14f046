"""Defines what a dataset needs of the place that its rows are in."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from soliloquy.dataset.selection import Filter
from soliloquy.v1.dataset_pb2 import Collected

# The key of a batch's end in its schema's metadata.
AFTER = b"after"


class Source(Protocol):
    """A folder or a table. The kinds of rows are those of a dataset's layout."""

    manifest: dict[str, Any]

    def recipes(self, kind: str) -> Iterable[str]:
        """Yields the recipes of the rows of a kind, some of them repeatedly."""

    def count(self, kind: str) -> int: ...

    def batches(
        self,
        kind: str,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        where: Filter = (),
        after: str | None = None,
        last: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yields a few hundred rows of one recipe at a time, with the place after them.

        With the place `last` of an earlier read, rows come in the order of that read.
        """

    def timings(self) -> Iterator[pa.RecordBatch]: ...

    def prompts(self) -> Mapping[str, str]: ...

    def unsharded(self) -> Iterator[Collected]:
        """Yields conversations that are not among the rows yet."""
