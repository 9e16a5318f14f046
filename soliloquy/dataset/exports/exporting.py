"""Exports a dataset to files of another format."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from soliloquy.dataset.exports.decoding import dialogues
from soliloquy.dataset.exports.dialect import DEFAULTS, Dialect
from soliloquy.dataset.exports.dialogue import CannotConvert, Dialogue
from soliloquy.dataset.exports.files import atomic_output, open_rows
from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, Format, Row, find, row_format
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.exports.verbatim import restored
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure


@dataclass(kw_only=True)
class ExportCounts:
    """The rows written to each part, and the conversations without a row in this format. Empty parts have no file."""

    written: Counter[str] = field(default_factory=Counter)
    left_out: int = 0


def export(
    dataset: Dataset,
    name: str,
    out: Path,
    *,
    choice: ExportOptions,
    shares: Splits | None = None,
    rejected: bool = False,
) -> ExportCounts:
    """Writes one file, or with `shares` a folder with a file for each; raises Failure and OSError."""
    if not dataset.count(rejected=rejected):
        kind = "rejected" if rejected else "accepted"
        raise Failure(f"{dataset.folder} holds no {kind} conversations to export")
    form = find(name)
    with atomic_output(out) as place:
        if isinstance(form, FolderFormat):
            counts = ExportCounts(written=form.export(dataset, place, choice, shares, rejected))
        else:
            paths = _paths(form, out, place, shares)
            counts = _export_rows(dataset, name, paths, choice, shares, rejected=rejected)
        if not counts.written.total():
            raise Failure(f"no conversation of {dataset.folder} has {form.wants}, which {name} needs")
    return counts


def rows_of(name: str, choice: ExportOptions, dialogues: Iterator[Dialogue]) -> Iterator[tuple[Dialogue, Row | None]]:
    """Yields each conversation's row, with the fields that an import of the same format kept verbatim."""
    form = row_format(name)
    for dialogue in dialogues:
        try:
            row = form.row(dialogue, choice)
        except CannotConvert as unfit:
            raise Failure(f"conversation {dialogue.id} {unfit}") from unfit
        if row is not None and dialogue.person:
            # Marked for everyone who trains a student model on it.
            row = row | {"person": True}
        yield dialogue, restored(row, dialogue.extra, name, form, choice)


def _paths(form: Format, out: Path, place: Path, shares: Splits | None) -> Mapping[str, Path]:
    """Returns the unfinished file of each part by the part's name."""
    if shares:
        place.mkdir()
        return {part: place / f"{part}{form.suffixes[0]}" for part in shares.of}
    if out.suffix not in form.suffixes:
        raise Failure(f"{out} has no known file type: end its name with {' or '.join(form.suffixes)}")
    return {out.name: place}


def _export_rows(
    dataset: Dataset,
    name: str,
    paths: Mapping[str, Path],
    choice: ExportOptions,
    shares: Splits | None,
    *,
    rejected: bool,
) -> ExportCounts:
    form, counts, seen = row_format(name), ExportCounts(written=Counter(dict.fromkeys(paths, 0))), set[str]()
    suffix = form.suffixes[0] if shares else Path(next(iter(paths))).suffix
    columns = ["id", "person", "problem.id", "problem.question", *form.columns(choice)]
    with ExitStack() as stack:
        dialect = _dialect(dataset, name, suffix, choice)
        files = {part: stack.enter_context(open_rows(path, suffix, dialect)) for part, path in paths.items()}
        for batch in dataset.batches(columns, rejected=rejected):
            for dialogue, row in rows_of(name, choice, dialogues(batch, dataset.prompts)):
                if form.once_a_problem:
                    problem = dialogue.problem_id or dialogue.id
                    if problem in seen:
                        continue
                    seen.add(problem)
                if row is None:
                    counts.left_out += 1
                    continue
                part = shares.part(dialogue.about) if shares else next(iter(files))
                files[part](row)
                counts.written[part] += 1
    for part, path in paths.items():
        if not counts.written[part]:
            path.unlink()
    return counts


def _dialect(dataset: Dataset, name: str, suffix: str, choice: ExportOptions) -> Dialect | None:
    """Returns the dialect of the file that the dataset was imported from, if it was of this format and type."""
    origin = dataset.manifest.get("run", {}).get("imported", {})
    written_as = origin.get("suffix") or Path(origin.get("file", "")).suffix
    known = origin.get("format") == name and "written" in origin and written_as == suffix
    if known:
        return Dialect(**origin["written"])
    return replace(DEFAULTS[suffix], formulas=True) if choice.formulas and suffix == ".csv" else None
