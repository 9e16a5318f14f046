"""Folders for Hugging Face's `datasets` (load_from_disk and load_dataset), with our rows as they are."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from soliloquy.dataset.exports.decoding import dialogues
from soliloquy.dataset.exports.format import ExportOptions, FolderFormat
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import REASONS, by_recipe, messages, recipe_of, schema
from soliloquy.runtime.arrow_stream import opened_stream
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_json

# A fixed batch size, so that equal rows make equal bytes.
ROWS_AT_ONCE = 1_000
DATA = "data-00000-of-00001.arrow"
WHOLE = "train"
_HIDDEN = {"problem.steps", "problem.answer", "problem.tolerance", "turns.calculation", "ending_reason"}
_LABELS = {"turns.student.intent", "turns.student.labels"}
_THOUGHTS = {f"turns.tutor.{field}" for field in ("thoughts", "evaluation", "labels")}
_SOLUTIONS = {"problem.solution", "problem.steps", "problem.enrichment"}
_RAW = {"turns.calls", "problem.enrichment.calls"}
# They hold some of all of these.
_TAKEN_BACK = ("turns.rejected", "rewinds")
# Fields that an import kept, which may hold anything.
_KEPT = ("extra",)


def _left_out(choice: ExportOptions) -> list[str]:
    parts = (
        *((choice.hidden, _HIDDEN), (choice.labels, _LABELS), (choice.thoughts, _THOUGHTS)),
        *((choice.solutions, _SOLUTIONS), (choice.raw, _RAW)),
    )
    left_out = [path for is_kept, paths in parts if not is_kept for path in paths]
    return [REASONS.name, *left_out, *(_TAKEN_BACK if left_out else ()), *(() if choice.all else _KEPT)]


def _without(fields: Iterable[pa.Field], left_out: Collection[str], above: str = "") -> Iterator[pa.Field]:
    """Yields the fields that are kept. None must be set: a row has no labels of another recipe's."""
    for field in fields:
        path, kind = f"{above}{field.name}", field.type
        if path in left_out:
            continue
        if pa.types.is_struct(kind):
            kind = pa.struct(list(_without(kind, left_out, f"{path}.")))
        elif pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
            item = kind.value_field
            kind = pa.list_(item.with_type(pa.struct(list(_without(item.type, left_out, f"{path}.")))))
        yield field.with_type(kind).with_nullable(True)


def _completed(batch: pa.RecordBatch, kind: pa.Schema) -> pa.RecordBatch:
    """Returns the rows with the columns and nested fields of the schema and no others."""
    columns = (
        batch[name].cast(field) if name in batch.schema.names else pa.nulls(len(batch), field)
        for name, field in zip(kind.names, kind.types, strict=True)
    )
    return pa.RecordBatch.from_arrays(list(columns), schema=kind)


def export(dataset: Dataset, place: Path, choice: ExportOptions, shares: Splits | None, rejected: bool) -> Counter[str]:
    left_out = _left_out(choice)
    batches = partial(dataset.batches, without=left_out, rejected=rejected)
    try:
        merged = pa.unify_schemas(map(schema, dataset.recipes(rejected=rejected)), promote_options="permissive")
    except pa.ArrowTypeError as error:
        why = f"{dataset.folder} holds recipes whose labels have one name and different types ({error})"
        raise Failure(f"{why}: choose another format") from error
    kind = pa.schema(_without(merged, left_out))
    parts = list(shares.of) if shares else [WHOLE]
    written = Counter(dict.fromkeys(parts, 0))
    place.mkdir()
    for part in parts:
        (place / part).mkdir()
        written[part] += _write(evenly(_of_part(batches(), part, shares, kind)), place / part, kind)
        if not written[part]:
            # `datasets` cannot read empty splits.
            shutil.rmtree(place / part)
    parts = [part for part in parts if written[part]]
    (place / "dataset_dict.json").write_text(json.dumps({"splits": parts}), "utf-8")
    files = "".join(f"  - split: {part}\n    path: {part}/{DATA}\n" for part in parts)
    (place / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n", "utf-8")
    return written


def _of_part(
    batches: Iterator[pa.RecordBatch], part: str, shares: Splits | None, kind: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = _completed(batch, kind)
        if shares is None:
            yield rows
            continue
        chosen = [shares.part(dialogue.about) == part for dialogue in dialogues(batch.select(["id", "problem"]))]
        yield rows.filter(pa.array(chosen, pa.bool_()))


def evenly(batches: Iterable[pa.RecordBatch], rows: int = ROWS_AT_ONCE) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    number = 0
    for batch in batches:
        held.append(batch.replace_schema_metadata(None))
        number += batch.num_rows
        while number >= rows:
            whole = pa.concat_batches(held)
            yield whole.slice(0, rows)
            held, number = [whole.slice(rows)], number - rows
    if number or held:
        yield pa.concat_batches(held)


def _write(batches: Iterator[pa.RecordBatch], folder: Path, kind: pa.Schema) -> int:
    """Writes the rows of a split and the files that `datasets` expects beside them; returns the number of rows."""
    rows = 0
    with pa.OSFile(str(folder / DATA), "wb") as file, pa.ipc.new_stream(file, kind) as stream:
        for batch in batches:
            if batch.num_rows:
                # Taken, so that unset values of equal rows have equal bytes, too.
                stream.write_batch(batch.take(pa.array(range(len(batch)), pa.int64())))
                rows += batch.num_rows
    with (folder / DATA).open("rb") as data:
        fingerprint = hashlib.file_digest(data, "sha256").hexdigest()[:16]
    state: dict[str, Any] = {
        "_data_files": [{"filename": DATA}],
        "_fingerprint": fingerprint,
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": folder.name,
    }
    (folder / "state.json").write_text(json.dumps(state), "utf-8")
    (folder / "dataset_info.json").write_text("{}", "utf-8")
    return rows


def read(folder: Path) -> Iterator[bytes]:
    """Yields the rows of all splits; columns that were left out are unset."""
    try:
        splits = [folder]
        if (folder / "dataset_dict.json").exists():
            named = read_json(folder / "dataset_dict.json")["splits"]
            # Only the name, so that no path leads out of the folder.
            splits = [folder / Path(str(split)).name for split in named]
        for split in splits:
            for data in read_json(split / "state.json")["_data_files"]:
                path = split / Path(str(data["filename"])).name
                with opened_stream(path) as stream:
                    for batch in (part for whole in stream for rows in evenly([whole]) for part in by_recipe(rows)):
                        known = schema(recipe_of(batch))
                        # Beside labels of another recipe.
                        if unknown := set(batch.schema.names) - {*known.names, "labels"}:
                            raise Failure(f"{path}: {', '.join(sorted(unknown))} are not columns of a conversation")
                        optional = pa.schema(_without(known, ()), known.metadata)
                        yield from messages(_completed(batch, optional))
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise Failure(f"{folder} is not a folder saved by `datasets` ({' '.join(str(error).split())})") from error


FORMAT = FolderFormat(title="a folder for Hugging Face's `datasets`", export=export, read=read)
