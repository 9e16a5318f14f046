"""Writes the features of a dataset, part by part, as a job of Ray Data."""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.curation.contamination import Benchmarks
from soliloquy.curation.features import Part, features
from soliloquy.curation.policy import TASK_ROWS
from soliloquy.dataset.reading import Dataset, place_after
from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.ray_session import ray_session

_STORE_BYTES = 256 * 2**20


def parts_of(dataset: Dataset) -> list[Part]:
    """Reads nothing but ids."""
    parts, rows, after = list[Part](), 0, None
    for batch in dataset.batches(["id"]):
        rows += len(batch)
        if rows >= TASK_ROWS:
            parts.append(Part(len(parts), after, rows))
            rows, after = 0, place_after(batch)
    return parts + ([Part(len(parts), after, rows)] if rows else [])


def file_of(folder: Path, part: Part) -> Path:
    return folder / f"{part.number:06}.parquet"


def write_features(
    folder: Path, dataset: str, parts: Sequence[Part], benchmarks: Benchmarks, address: str | None, scratch: Path
) -> Iterator[int]:
    """Writes a file for each part, and yields its rows when it is whole."""
    with ray_session(address, cpus=len(os.sched_getaffinity(0)), store_bytes=_STORE_BYTES, folder=scratch):
        import ray
        import ray.data

        _silence(ray.data)
        # Workers run in folders of their own; no URL is a path that exists.
        place = str(Path(dataset).resolve()) if Path(dataset).exists() else dataset
        given = {"dataset": place, "benchmarks": ray.put(benchmarks)}
        tasks = [{"number": part.number, "after": part.after or "", "rows": part.rows} for part in parts]
        job = ray.data.from_items(tasks, override_num_blocks=len(tasks)).map_batches(
            _work, batch_size=1, fn_kwargs=given, batch_format="pyarrow"
        )
        try:
            for table in job.iter_batches(batch_size=None, batch_format="pyarrow"):
                [number] = set(table["part"].to_pylist())
                with atomic_file(folder / f"{number:06}.parquet") as file:
                    # Hashes cannot be compressed.
                    pq.write_table(table, file, compression="lz4", use_dictionary=False)
                yield len(table)
        except ray.exceptions.RayError as error:
            raise _cause(error) from error


def _work(task: pa.Table, dataset: str, benchmarks: Any) -> pa.Table:
    """Runs in Ray's workers."""
    import ray

    [row] = task.to_pylist()
    part = Part(row["number"], row["after"] or None, row["rows"])
    return features(Dataset(dataset), part, ray.get(benchmarks))


def _cause(error: BaseException) -> Failure:
    """Returns the failure of a worker, which Ray wraps."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, Failure):
            return inner
        inner = getattr(inner, "cause", None) or inner.__cause__
    return Failure(f"Ray gave up the job: {one_line(Exception(str(error).strip().splitlines()[-1]))}")


def _silence(data: Any) -> None:
    """The command has a progress bar of its own."""
    data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").handlers[:] = [logging.NullHandler()]
