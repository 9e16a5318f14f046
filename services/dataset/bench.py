"""How fast datasets are read and exported; built from sample rows, over and over under other ids."""

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from services.dataset.exports.exporting import export
from services.dataset.exports.format import Choice
from services.dataset.manifest import Shard, write_manifest
from services.dataset.place import Place
from services.dataset.reading import Dataset
from services.dataset.rows import SCHEMA

GROUP_ROWS = 1_000


def sample_dataset(sample: pa.RecordBatch, conversations: int, folder: Path) -> Dataset:
    """One shard of so many rows."""
    path = folder / "accepted" / "00000.parquet"
    path.parent.mkdir(parents=True)
    whole = pa.concat_batches([sample.select(SCHEMA.names)] * -(-GROUP_ROWS // sample.num_rows))
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for first in range(0, conversations, GROUP_ROWS):
            batch = whole.slice(0, min(GROUP_ROWS, conversations - first))
            numbers = pa.array(range(first, first + batch.num_rows))
            ids = pc.utf8_lpad(numbers.cast(pa.string()), 24, "0")
            columns = [ids if name == "id" else batch[name] for name in SCHEMA.names]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
    shard = Shard(name="accepted/00000.parquet", rows=conversations, bytes=path.stat().st_size, sha256="")
    write_manifest(Place(folder), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, [shard])
    return Dataset(folder)


def read_seconds(dataset: Dataset) -> float:
    """For every column of every row, once."""
    start = time.perf_counter()
    for _ in dataset.batches():
        pass
    return time.perf_counter() - start


def export_rate(dataset: Dataset, name: str, out: Path) -> float:
    """Conversations a second of CPU."""
    start = time.process_time()
    counts = export(dataset, name, out, choice=Choice())
    return counts.written.total() / (time.process_time() - start)
