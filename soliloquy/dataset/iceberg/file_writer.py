"""Writes rows of one recipe into files that a commit can add.

pyiceberg finds types and partitions anew for each file, which takes longer than writing its hundreds of columns."""

import uuid
from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
from pyiceberg.table import Table

from soliloquy.dataset.iceberg.rows import table_rows, table_schema
from soliloquy.v1.dataset_pb2 import Collected

# Rows that are being converted take several times their memory.
_AT_ONCE = 1024


class FileWriter:
    """For a table as it is now: one whose columns change needs another writer."""

    def __init__(self, table: Table, recipe: str) -> None:
        self._table = table
        self._schema = table.schema()
        self._kind = _identified(table_schema(recipe), self._schema.as_arrow())
        self._plan = compute_statistics_plan(self._schema, table.properties)
        self._ids = parquet_path_to_id_mapping(self._schema)

    def write(self, partition: Sequence[Any], group: Sequence[Collected]) -> DataFile:
        """Writes one row group of one partition."""
        rows = pa.Table.from_batches(
            table_rows(partition[0], group[start : start + _AT_ONCE], self._kind)
            for start in range(0, len(group), _AT_ONCE)
        )
        spec = self._table.spec()
        values = [PartitionFieldValue(field, value) for field, value in zip(spec.fields, partition, strict=True)]
        key = PartitionKey(values, spec, self._schema)
        path = self._table.location_provider().new_data_location(f"{uuid.uuid4()}.parquet", key)
        output = self._table.io.new_output(path)
        with output.create() as stream:
            # The table has a schema of its own.
            with pq.ParquetWriter(cast("Any", stream), rows.schema, compression="zstd", store_schema=False) as writer:
                writer.write_table(rows)
            size = stream.tell()
        found = data_file_statistics_from_parquet_metadata(writer.writer.metadata, self._plan, self._ids)
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=key.partition,
            file_size_in_bytes=size,
            spec_id=spec.spec_id,
            **found.to_serialized_dict(),
        )


def _identified(kind: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """Returns the schema with the ids by which the table knows its columns."""
    return pa.schema([_field(field, stored.field(field.name)) for field in kind])


def _field(field: pa.Field, stored: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_field(child, stored.type.field(child.name)) for child in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_field(kind.value_field, stored.type.value_field))
    return pa.field(field.name, kind, field.nullable, stored.metadata)
