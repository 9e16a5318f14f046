"""Folders for Hugging Face's `datasets` (load_from_disk and load_dataset), with our rows as they are."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from soliloquy.dataset.exports.arrays import completed
from soliloquy.dataset.exports.decoding import dialogues
from soliloquy.dataset.exports.dialogue import CannotConvert
from soliloquy.dataset.exports.format import ExportOptions, FolderFormat
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import messages, recipe_of, schema

# A fixed batch size, so that equal rows make equal bytes.
ROWS_AT_ONCE = 1_000
DATA = "data-00000-of-00001.arrow"
WHOLE = "train"
_HIDDEN = {"problem.steps", "problem.answer", "problem.tolerance", "turns.calculation", "ending_reason"}
_LABELS = {"turns.student.intent", "turns.student.labels"}
_THOUGHTS = {f"turns.tutor.{field}" for field in ("thoughts", "evaluation", "labels")}
_SOLUTIONS = {"problem.solution", "problem.steps", "problem.enrichment"}
_RAW = {"turns.calls", "problem.enrichment.calls"}


def columns(choice: ExportOptions, recipe: str) -> list[str]:
    left_out = set() if choice.hidden else {*_HIDDEN}
    left_out |= set() if choice.labels else _LABELS
    left_out |= set() if choice.thoughts else _THOUGHTS
    left_out |= set() if choice.solutions else _SOLUTIONS
    left_out |= set() if choice.raw else _RAW
    return [
        path
        for path in _paths(schema(recipe))
        if not any(path == out or path.startswith(f"{out}.") for out in left_out)
    ]


def export(
    dataset: Dataset,
    place: Path,
    choice: ExportOptions,
    shares: Splits | None,
    rejected: bool,
) -> Counter[str]:
    parts = list(shares.of) if shares else [WHOLE]
    written = Counter(dict.fromkeys(parts, 0))
    place.mkdir()
    for part in parts:
        (place / part).mkdir()
        batches = _of_part(dataset.batches(columns(choice, dataset.recipe), rejected=rejected), part, shares)
        written[part] += _write(evenly(batches), place / part)
        if not written[part]:
            # `datasets` cannot read empty splits.
            shutil.rmtree(place / part)
    parts = [part for part in parts if written[part]]
    (place / "dataset_dict.json").write_text(json.dumps({"splits": parts}), "utf-8")
    files = "".join(f"  - split: {part}\n    path: {part}/{DATA}\n" for part in parts)
    (place / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n", "utf-8")
    return written


def _of_part(batches: Iterator[pa.RecordBatch], part: str, shares: Splits | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if shares is None:
            yield batch
            continue
        chosen = [shares.part(dialogue.about) == part for dialogue in dialogues(batch.select(["id", "problem"]))]
        yield batch.filter(pa.array(chosen, pa.bool_()))


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


def _write(batches: Iterator[pa.RecordBatch], folder: Path) -> int:
    """Writes the rows of a split and the files that `datasets` expects beside them; returns the number of rows."""
    rows = 0
    first = next(batches)
    with pa.OSFile(str(folder / DATA), "wb") as file, pa.ipc.new_stream(file, first.schema) as stream:
        for batch in chain([first], batches):
            if batch.num_rows:
                stream.write_batch(completed(batch, batch.schema))
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
    return (message for batch in evenly(_rows(folder)) for message in messages(batch))


def _rows(folder: Path) -> Iterator[pa.RecordBatch]:
    """Yields the rows of all splits; columns that were left out are unset."""
    try:
        splits = [folder]
        if (folder / "dataset_dict.json").exists():
            named = json.loads((folder / "dataset_dict.json").read_bytes())["splits"]
            # Only the name, so that no path leads out of the folder.
            splits = [folder / Path(str(split)).name for split in named]
        for split in splits:
            for data in json.loads((split / "state.json").read_bytes())["_data_files"]:
                path = split / Path(str(data["filename"])).name
                with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
                    for batch in stream:
                        known = schema(recipe_of(batch))
                        if unknown := set(batch.schema.names) - set(known.names):
                            raise CannotConvert(
                                f"{path}: {', '.join(sorted(unknown))} are not columns of a conversation"
                            )
                        yield completed(batch, known)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        if isinstance(error, CannotConvert):
            raise
        raise CannotConvert(f"{folder} is not a folder saved by `datasets` ({' '.join(str(error).split())})") from error


def _paths(fields: Iterable[pa.Field], above: str = "") -> Iterator[str]:
    """Yields the paths of the columns that can be left out individually."""
    for field in fields:
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner) and above.count(".") < 2:
            yield from _paths(inner, f"{above}{field.name}.")
        else:
            yield f"{above}{field.name}"


FORMAT = FolderFormat(title="a folder for Hugging Face's `datasets`", export=export, read=read)
