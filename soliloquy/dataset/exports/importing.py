"""Imports rows of another format as a dataset."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from soliloquy.dataset.exports import dialect
from soliloquy.dataset.exports.dialogue import PATHS, CannotConvert, Dialogue, Exchange, conversation_of
from soliloquy.dataset.exports.files import atomic_output
from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, Row, find, row_format
from soliloquy.dataset.exports.slips import slips_in
from soliloquy.dataset.exports.verbatim import kept, rewritten
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import versions, write_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.recipes.labels import labels_of, row_path
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import require_regular
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.dataset_pb2 import Collected


@dataclass(kw_only=True)
class ImportCounts:
    written: int = 0
    refused: int = 0
    # Messages that an export would write differently; they are kept as they came.
    rewritten: int = 0
    # Conversations with an id of an earlier row; they get one of their own.
    repeated_ids: int = 0
    # Counts the oddities of kept messages by name.
    slips: Counter[str] = field(default_factory=Counter)
    # Conversations that the problem file gave a solution; None without one.
    joined: int | None = None

    def remarks(self) -> Iterator[str]:
        if self.refused:
            yield f"rows refused: {self.refused}"
        if self.repeated_ids:
            yield f"ids repeated: {self.repeated_ids}"
        if self.rewritten:
            yield f"messages kept beside what was read of them: {self.rewritten:,}"
        if self.joined is not None:
            yield f"{self.joined} with a problem of the file"
        yield from (f"{name}: {count:,}" for name, count in sorted(self.slips.items()))


def import_rows(
    source: Path,
    name: str,
    out: Path,
    rows: Iterable[tuple[str, Row | str]],
    *,
    report: Callable[[str], None],
    problem_of: Callable[[str], Problem | None] | None = None,
) -> ImportCounts:
    """Writes a dataset, and reports the rows that it cannot hold; raises Failure and OSError.

    `rows` come with their places in the source, and unreadable ones as the reason. A format of folders reads the source
    itself. `problem_of` finds the problem that a conversation is about by its question.
    """
    form = find(name)
    if not source.is_dir():
        try:
            require_regular(source)
        except OSError as error:
            raise Failure(f"{source}: cannot be read: {error.strerror}") from error
    counts = ImportCounts(joined=0 if problem_of else None)
    if isinstance(form, FolderFormat):
        counts.written = _write(source, name, out, form.read(source), None)
        return counts
    known: Counter[str] = Counter()
    run = digest("import", name, _sha256(source))
    # The place of each id.
    ids: dict[str, str] = {}

    def conversations() -> Iterator[bytes]:
        for place, row in rows:
            try:
                if isinstance(row, str):
                    raise CannotConvert(row)
                read = row_format(name).dialogue(row)
                earlier = ids.get(read.id, "") if read.id else ""
                dialogue = _with_rest(read._replace(id="") if earlier else read, row, name)
                conversation = conversation_of(dialogue, run, len(ids))
                if problem_of and (problem := problem_of(dialogue.question)):
                    conversation.problem.MergeFrom(problem)
                    counts.joined = (counts.joined or 0) + 1
            except ValueError as unfit:
                counts.refused += 1
                report(f"{place}: {unfit}")
                continue
            ids[conversation.id] = place
            known.update(_known(dialogue))
            counts.rewritten += rewritten(dialogue.extra, name)
            counts.slips.update(slips_in(dialogue, conversation))
            if earlier:
                counts.repeated_ids += 1
                report(f"{place}: id: the same as at {earlier}; the conversation gets an id of its own")
            yield conversation.SerializeToString(deterministic=True)

    counts.written = _write(source, name, out, conversations(), known)
    return counts


def dialogue_of(row: Row, name: str) -> Dialogue:
    return _with_rest(row_format(name).dialogue(row), row, name)


def _with_rest(dialogue: Dialogue, row: Row, name: str) -> Dialogue:
    """Keeps every field verbatim that an export would write differently."""
    form = row_format(name)
    written = form.row(dialogue, ExportOptions()) or {}
    extra = dialogue.extra | kept(row, written, name, form)
    return dialogue._replace(extra=extra, person=row.get("person") is True)


def _write(source: Path, name: str, out: Path, conversations: Iterable[bytes], known: Counter[str] | None) -> int:
    origin: dict[str, Any] = {"format": name, "file": source.name}
    files = [source] if source.is_file() else sorted(source.glob("*.*"))
    styles = {(file.suffix, dialect.detect(file)) for file in files if file.is_file()}
    if len(styles) == 1:
        [(suffix, written)] = styles
        origin |= {"suffix": suffix, "written": asdict(written)} if written else {}
    with atomic_output(out) as folder:
        place, tally = Storage(folder), Tally()
        writer = DatasetWriter(place, folder, (), ShardLimits(), tally)
        recipe = DEFAULT
        for serialised in conversations:
            recipe = Conversation.FromString(serialised).run.recipe
            writer.add(Collected(conversation=serialised, recipe=recipe))
        shards = writer.close()
        if not shards:
            raise Failure(f"{source} holds no conversations that can be read as {name}")
        if known is not None:
            # Columns that no imported row has.
            labels = labels_of(recipe)
            paths = [*PATHS.values(), *(row_path(label) for label, _ in labels.values())]
            origin["unset"] = [path for path in paths if not known[path]]
        run = {"imported": origin, **versions()}
        write_manifest(place, {"run": run, "counts": tally.as_json(), "cost": {}, "arrival": {}}, shards)
    return tally.accepted


def _known(dialogue: Dialogue) -> set[str]:
    parts: list[Dialogue | Exchange] = [dialogue, *dialogue.turns]
    known = {path for name, path in PATHS.items() if any(getattr(one, name, None) not in ("", None) for one in parts)}
    return known | {row_path(name) for one in parts for name in one.labels}


def _sha256(path: Path) -> str:
    if path.is_dir():
        return hashlib.sha256(path.name.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
