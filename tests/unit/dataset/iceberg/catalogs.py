"""Catalogs in a folder, as pyiceberg's own variables configure them, and tables with given conversations."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from soliloquy.dataset.iceberg.rows import table_rows, table_schema
from soliloquy.dataset.iceberg.tables import Location
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected, Origin, Timings


def catalog_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    """Configures a catalog `prod` in SQLite with its warehouse beside it; returns a namespace of it."""
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{folder}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", f"file://{folder}/warehouse")
    return Location.parsed("iceberg:prod/tutoring")


def collected(conversations: Sequence[Conversation], reasons: Sequence[str] = ()) -> list[Collected]:
    """Returns what the collector makes of conversations, a second apart."""
    return [
        Collected(
            conversation=one.SerializeToString(deterministic=True),
            reasons=reasons,
            id=one.id,
            ordinal=one.ordinal,
            attempt=one.attempt,
            recipe=one.run.recipe,
            timings=Timings(collected_at=1700000000.5 + place),
            origin=Origin(topic="conversation.finished", partition=2, offset=2**40 + place),
        )
        for place, one in enumerate(conversations)
    ]


def in_table(dataset: str, group: Sequence[Collected]) -> pa.RecordBatch:
    return table_rows(dataset, group, table_schema(group[0].recipe))


def commit(location: Location, conversations: Sequence[Conversation], reasons: Sequence[str] = ()) -> str:
    """Appends conversations of one run in one commit; returns the location of their dataset."""
    dataset = run_key(conversations[0].run)
    TableWriter(location).append([(dataset, one) for one in collected(conversations, reasons)])
    return f"{location}/{dataset}"
