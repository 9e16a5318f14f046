"""Rows of another format into a dataset of ours."""

import hashlib
import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from soliloquy.v1.conversation_pb2 import Conversation

from services.dataset.exports import hf
from services.dataset.exports.dialogue import Dialogue, Exchange, Unfit, conversation_of
from services.dataset.exports.files import Taken, unfinished
from services.dataset.exports.format import Choice, Row, find
from services.dataset.reading import FORMAT
from services.dataset.rows import SCHEMA, messages, rows
from services.runtime.seeds import digest

GROUP_ROWS = 1_000
SHARD_ROWS = 10_000
_ABSENT = object()


class CannotImport(ValueError):
    """Nothing is written; the message names the place in the source and the reason."""


def import_rows(source: Path, name: str, out: Path, told: Iterable[tuple[str, Row]]) -> int:
    """Writes a dataset of rows, each with its place in the source; raises CannotImport and OSError."""
    run = digest("import", name, _sha256(source))
    known: Counter[str] = Counter()

    def conversations() -> Iterator[Conversation]:
        ids: set[str] = set()
        for ordinal, (place, row) in enumerate(told):
            try:
                dialogue = restored(row, name, ids)
                conversation = conversation_of(dialogue, run, ordinal)
            except (Unfit, ValueError) as unfit:
                raise CannotImport(f"{place}: {unfit}") from unfit
            known.update(_known(dialogue))
            ids.add(conversation.id)
            yield conversation

    batches = (rows(one.SerializeToString() for one in group) for group in _groups(conversations()))
    return _write(source, name, out, batches, known)


def import_folder(source: Path, out: Path) -> int:
    """The same of a folder for `datasets`, whose rows are ours."""
    batches = (rows(messages(batch)) for batch in hf.evenly(hf.read(source)))
    try:
        return _write(source, "hf", out, batches, None)
    except hf.NoFolder as none:
        raise CannotImport(str(none)) from none


def restored(row: Row, name: str, taken: Container[str] = ()) -> Dialogue:
    """What a row says; what a row made of it again would say otherwise is kept word for word."""
    form = find(name)
    dialogue = form.dialogue(row)
    if dialogue.id in taken:
        dialogue = dialogue._replace(id="")
    again = form.row(dialogue, Choice()) or {}
    kept = {
        field: value for field, value in row.items() if again.get(field, _ABSENT) != value and field not in form.made
    }
    return dialogue._replace(extra=dialogue.extra | {name: kept}) if kept else dialogue


def _write(source: Path, name: str, out: Path, batches: Iterator[pa.RecordBatch], known: Counter[str] | None) -> int:
    try:
        with unfinished(out) as place:
            shards = list(_shards(place, batches))
            if not shards:
                raise CannotImport(f"{source} holds no conversation")
            count: int = sum(shard["rows"] for shard in shards)
            origin: dict[str, Any] = {"format": name, "file": source.name}
            if known is not None:
                origin["unset"] = [path for path in _PATHS.values() if not known[path]]
            manifest = {
                "format": FORMAT,
                "run": {"soliloquy": version("soliloquy")},
                "origin": origin,
                "counts": {"accepted": count, "rejected": 0},
                "cost": {},
                "shards": shards,
            }
            text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
            (place / "manifest.json").write_text(text, "utf-8")
    except Taken as taken:
        raise CannotImport(str(taken)) from taken
    return count


def _shards(place: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    number = 0
    while group := list(islice(batches, SHARD_ROWS // GROUP_ROWS)):
        name = f"accepted/{number:05}.parquet"
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
            for batch in group:
                writer.write_batch(batch)
        size = path.stat().st_size
        yield {"name": name, "rows": sum(map(len, group)), "bytes": size, "sha256": _sha256(path)}
        number += 1


def _groups(conversations: Iterator[Conversation]) -> Iterator[list[Conversation]]:
    while group := list(islice(conversations, GROUP_ROWS)):
        yield group


# What a row may say, by the column that holds it; where none of them does, the manifest says so.
_PATHS = {
    "id": "id",
    "recipe": "run.recipe",
    "problem_id": "problem.id",
    "topic": "problem.topic",
    "question": "problem.question",
    "solution": "problem.solution",
    "detailed_solution": "problem.enrichment.detailed_solution",
    "outline": "problem.enrichment.outline",
    "answer": "problem.answer",
    "persona": "persona",
    "ending": "ending",
    "student": "turns.student.text",
    "intent": "turns.student.intent",
    "strategy": "turns.student.strategy",
    "description": "turns.calculation",
    "reply": "turns.tutor.text",
    "thoughts": "turns.tutor.thoughts",
    "evaluation": "turns.tutor.evaluation",
    "action": "turns.tutor.action",
    "step": "turns.tutor.step",
    "state": "turns.tutor.state",
}


def _known(dialogue: Dialogue) -> set[str]:
    told: list[Dialogue | Exchange] = [dialogue, *dialogue.turns]
    return {path for name, path in _PATHS.items() if any(getattr(one, name, None) not in ("", 0, None) for one in told)}


def _sha256(path: Path) -> str:
    if path.is_dir():
        return hashlib.sha256(path.name.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
