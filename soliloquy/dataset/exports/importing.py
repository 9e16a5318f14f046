"""Imports rows of another format as a dataset."""

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from soliloquy.dataset.exports import dialect
from soliloquy.dataset.exports.dialogue import Dialogue, Exchange, conversation_of
from soliloquy.dataset.exports.files import atomic_output
from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, Row, find, row_format
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import versions, write_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.recipes.labels import labels_of, row_path
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.regular_file import require_regular
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected


def import_rows(source: Path, name: str, out: Path, rows: Iterable[tuple[str, Row]]) -> int:
    """Writes a dataset; raises Failure, which names the place in the source, and OSError.

    `rows` come with their places in the source; a format of folders reads the source itself.
    """
    form = find(name)
    if not source.is_dir():
        try:
            require_regular(source)
        except OSError as error:
            raise Failure(f"{source}: cannot be read: {error.strerror}") from error
    if isinstance(form, FolderFormat):
        return _write(source, name, out, form.read(source), None)
    run = digest("import", name, _sha256(source))
    known: Counter[str] = Counter()

    def conversations() -> Iterator[Conversation]:
        ids: set[str] = set()
        for ordinal, (place, row) in enumerate(rows):
            try:
                dialogue = dialogue_of(row, name, ids)
                conversation = conversation_of(dialogue, run, ordinal)
            except ValueError as unfit:
                raise Failure(f"{place}: {unfit}") from unfit
            known.update(_known(dialogue))
            ids.add(conversation.id)
            yield conversation

    return _write(source, name, out, (one.SerializeToString(deterministic=True) for one in conversations()), known)


def dialogue_of(row: Row, name: str, taken: Container[str] = ()) -> Dialogue:
    """Reads a row, and keeps every field verbatim that an export would write differently."""
    form = row_format(name)
    dialogue = form.dialogue(row)
    if dialogue.id in taken:
        dialogue = dialogue._replace(id="")
    exported = form.row(dialogue, ExportOptions()) or {}
    kept = {
        field: value
        for field, value in row.items()
        if field not in form.made and (field not in exported or to_json(exported[field]) != to_json(value))
    }
    extra = dialogue.extra | ({name: kept} if kept else {})
    if [field for field in exported if field not in form.made] != [field for field in row if field not in form.made]:
        extra |= {"columns": {name: list(row)}}
    return dialogue._replace(extra=extra, person=row.get("person") is True)


def _write(source: Path, name: str, out: Path, conversations: Iterable[bytes], known: Counter[str] | None) -> int:
    origin: dict[str, Any] = {"format": name, "file": source.name}
    if source.is_file() and (written := dialect.detect(source)):
        origin["written"] = asdict(written)
    with atomic_output(out) as folder:
        place, tally = Storage(folder), Tally()
        writer = DatasetWriter(place, folder, (), ShardLimits(), tally)
        recipe = DEFAULT
        for serialised in conversations:
            recipe = Conversation.FromString(serialised).run.recipe
            writer.add(Collected(conversation=serialised, recipe=recipe))
        shards = writer.close()
        if not shards:
            raise Failure(f"{source} holds no conversations")
        if known is not None:
            labels = labels_of(recipe)
            paths = [*_PATHS.values(), *(row_path(label) for label, _ in labels.values())]
            origin["unset"] = [path for path in paths if not known[path]]
        run = {"imported": origin, **versions()}
        write_manifest(place, {"run": run, "counts": tally.as_json(), "cost": {}, "arrival": {}}, shards)
    return tally.accepted


# The column of each field of a row; the manifest lists those that no imported row has.
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
    "resolution": "resolution",
    "student": "turns.student.text",
    "intent": "turns.student.intent",
    "description": "turns.calculation",
    "reply": "turns.tutor.text",
    "thoughts": "turns.tutor.thoughts",
    "evaluation": "turns.tutor.evaluation",
}


def _known(dialogue: Dialogue) -> set[str]:
    parts: list[Dialogue | Exchange] = [dialogue, *dialogue.turns]
    known = {path for name, path in _PATHS.items() if any(getattr(one, name, None) not in ("", None) for one in parts)}
    return known | {row_path(name) for one in parts for name in one.labels}


def _sha256(path: Path) -> str:
    if path.is_dir():
        return hashlib.sha256(path.name.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
