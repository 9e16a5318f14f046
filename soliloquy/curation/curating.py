"""Curates a dataset: features of every row by a job, a choice over all of them, and a dataset of what is kept."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.curation import policy
from soliloquy.curation.choosing import Choice, Fate, Fates, Features, Tell, choose
from soliloquy.curation.contamination import Benchmarks, read_benchmarks
from soliloquy.curation.job import file_of, parts_of, write_features
from soliloquy.curation.strata import STRATA
from soliloquy.dataset.exports.files import atomic_output
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import write_manifest
from soliloquy.dataset.prompts import write_prompts
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import messages, recipe_of
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.runtime.distribution import installed_version
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import digest
from soliloquy.v1.dataset_pb2 import Collected

# Every row of the dataset with what became of it.
FATES = "curation.parquet"
_REASONS = ("contamination", "fault")
# The only part without splits.
_WHOLE = ""
_READ, _WRITTEN = "conversations read", "conversations written"


@dataclass(frozen=True, kw_only=True, slots=True)
class Curated:
    read: int
    # By the fate's word, and of the kept rows by part.
    counts: dict[str, int]
    parts: dict[str, int]


def curate(
    dataset: Dataset, out: Path, benchmarks: Sequence[Path], choice: Choice, address: str | None, tell: Tell
) -> Curated:
    """Raises Failure and OSError. A second call takes the features that a killed one has written."""
    with atomic_output(out) as place:
        parts = parts_of(dataset)
        if not parts:
            raise Failure(f"{dataset.folder} holds no accepted conversations to curate")
        read = read_benchmarks(benchmarks)
        with _work_folder(out) as work:
            folder = _features_folder(work, dataset, read)
            left = [part for part in parts if not file_of(folder, part).exists()]
            rows = sum(part.rows for part in parts)
            done = rows - sum(part.rows for part in left)
            tell(_READ, done)
            for written in write_features(folder, dataset.folder, left, read, address, work / "ray") if left else ():
                tell(_READ, done := done + written)
            features = Features([file_of(folder, part) for part in parts])
            fates = choose(features, choice, tell)
            names = list(choice.splits.of) if choice.splits else [_WHOLE]
            place.mkdir()
            _write_fates(place / FATES, features, fates, names if choice.splits else ())
            kept = _write(dataset, place, fates, names, choice, tell)
    shutil.rmtree(work)
    return Curated(read=rows, counts=fates.counts, parts=kept)


@contextmanager
def _work_folder(out: Path) -> Iterator[Path]:
    """Yields the folder beside the output for what a second run takes; it stays while it holds any of that."""
    work = out.with_name(f".{out.name}.curating")
    work.mkdir(exist_ok=True)
    try:
        yield work
    finally:
        shutil.rmtree(work / "ray", ignore_errors=True)
        if not any(work.glob("*/*.parquet")):
            shutil.rmtree(work)


def _features_folder(work: Path, dataset: Dataset, benchmarks: Benchmarks) -> Path:
    """Removes what was written for another dataset, policy or benchmark."""
    kinds = json.dumps([dataset.folder, dataset.manifest, policy.as_json(), benchmarks.places])
    folder = work / digest(kinds, benchmarks.runs.tobytes().hex(), installed_version())
    for other in work.iterdir():
        if other != folder:
            shutil.rmtree(other)
    folder.mkdir(exist_ok=True)
    return folder


def _write_fates(path: Path, features: Features, fates: Fates, parts: Sequence[str]) -> None:
    ids = _ids(features, np.unique(fates.repeats[fates.repeats != np.arange(features.rows)]))
    words = np.array([fate.word for fate in Fate])
    writer = None
    for first, table in features.tables(["id", *STRATA, *_REASONS]):
        rows = slice(first, first + len(table))
        reasons = [
            next(filter(None, each), "") for each in zip(*(table[name].to_pylist() for name in _REASONS), strict=True)
        ]
        own = np.arange(first, first + len(table))
        repeats, is_kept = fates.repeats[rows], fates.fates[rows] == Fate.KEPT
        made = {
            "id": table["id"],
            "kept": pa.array(is_kept),
            "fate": pa.array(words[fates.fates[rows]].tolist()),
            "because": pa.array(reasons),
            "duplicate_of": pa.array(
                [ids[row] if row != place else None for place, row in zip(own.tolist(), repeats.tolist(), strict=True)],
                pa.string(),
            ),
            "likeness": pa.array(fates.likeness[rows], mask=repeats == own),
            **{name: table[name] for name in STRATA},
            **({"split": pa.array([parts[part] for part in fates.parts[rows]])} if parts else {}),
        }
        batch = pa.table(made)
        writer = writer or pq.ParquetWriter(path, batch.schema, compression="zstd")
        writer.write_table(batch)
    if writer:
        writer.close()


def _ids(features: Features, rows: Any) -> dict[int, str]:
    found: dict[int, str] = {}
    for first, table in features.tables(["id"]):
        inside = rows[(rows >= first) & (rows < first + len(table))]
        found |= zip(inside.tolist(), table["id"].take(pa.array(inside - first)).to_pylist(), strict=True)
    return found


def _write(
    dataset: Dataset, place: Path, fates: Fates, names: Sequence[str], choice: Choice, tell: Tell
) -> dict[str, int]:
    """Writes a dataset for each part; returns the rows of each."""
    storages, scratch = {name: Storage(place / name) for name in names}, place / ".unfinished"
    tallies = {name: Tally() for name in names}
    writers = {
        name: DatasetWriter(storage, scratch / name, (), ShardLimits(), tallies[name])
        for name, storage in storages.items()
    }
    targets, first = np.where(fates.fates == Fate.KEPT, fates.parts, -1), 0
    for batch in dataset.batches():
        inside = targets[first : first + len(batch)]
        for number, name in enumerate(names):
            rows = batch.filter(pa.array(inside == number))
            for message in messages(rows) if len(rows) else ():
                writers[name].add(Collected(conversation=message, recipe=recipe_of(rows)))
        first += len(batch)
        tell(_WRITTEN, first)
    run = {name: value for name, value in dataset.manifest["run"].items() if name != "conversations"}
    curated = {"dataset": dataset.folder, "seed": choice.seed, "counts": fates.counts, "policy": policy.as_json()}
    for name in names:
        shards = writers[name].close() + write_prompts(storages[name], dataset.prompts)
        manifest = {"run": run | {"curated": curated}, "counts": tallies[name].as_json(), "cost": {}, "arrival": {}}
        write_manifest(storages[name], manifest, shards)
    shutil.rmtree(scratch, ignore_errors=True)
    return {name: tallies[name].accepted for name in names}
