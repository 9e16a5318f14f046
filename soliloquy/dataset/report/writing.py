"""Writes the page: its parts are put into one file, in the order in which a browser needs them."""

import base64
import hashlib
import re
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import to_json

from soliloquy.dataset.card import DatasetSummary, title
from soliloquy.dataset.columns import below, named, problems, students, value_counts
from soliloquy.dataset.labelling import described_labels
from soliloquy.dataset.lineage import listed
from soliloquy.dataset.manifest import services_in
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.report.findings import Families, Findings
from soliloquy.dataset.report.overview import overview
from soliloquy.dataset.report.sample import CheckedSample
from soliloquy.dataset.statistics import kinds_of_reasons
from soliloquy.dataset.view import columns, words_of
from soliloquy.runtime.files import atomic_file
from soliloquy.web import FOLDER as SHARED

# A facet with several values for one conversation stores them as bits, and JavaScript shifts 32 bits.
_MOST_BITS = 30
ACCEPTED, REJECTED = "accepted", "rejected"

ValueRows = Iterator[tuple[str, pa.Array]]


@dataclass(kw_only=True)
class Facet:
    # The values in the order of their first occurrence; each conversation has the index of one, or the bits of several.
    values: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    several: bool = False

    def number(self, value: str) -> int | None:
        if value not in self.values:
            if self.several and len(self.values) == _MOST_BITS:
                return None
            self.values.append(value)
        return self.values.index(value)


class ReportIndex:
    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {"id": [], "question": [], "turns": []}
        self._blocks: list[int] = []
        # The first accepted row of each problem and of each place in the run, and its row for a rejected one.
        self._accepted: dict[tuple[str, int | None], int] = {}
        self._pairs: dict[int, int] = {}
        self._facets = {name: Facet(several=True) for name in ("outcome", "drawn", "program")}
        self._facets |= {name: Facet() for name in ("topic", "student", "ending", "resolution")}

    def add(self, batch: pa.RecordBatch, blocks: Sequence[int]) -> None:
        """Adds rows; `blocks` is the number of rows in each of their blocks."""
        problem = batch["problem"]
        self._add_pairs(batch)
        self._blocks += blocks
        self._columns["id"] += batch["id"].to_pylist()
        self._columns["question"] += below(problem, "question").to_pylist()
        self._columns["turns"] += pc.list_value_length(batch["turns"]).to_pylist()
        single = {
            "topic": below(problem, "topic"),
            "student": students(batch),
            "ending": named(batch["ending"], "ENDING_"),
            "resolution": named(batch["resolution"], "RESOLUTION_"),
        }
        for name, values in single.items():
            facet = self._facets[name]
            facet.codes += [facet.number(value or "none") or 0 for value in values.to_pylist()]
        several = {"outcome": _outcomes(batch), "drawn": _drawn(batch), "program": _programs(batch)}
        for name, value_rows in several.items():
            facet, bits = self._facets[name], np.zeros(len(batch), np.int64)
            for value, rows in value_rows:
                if (number := facet.number(value)) is not None:
                    bits[np.asarray(rows)] |= 1 << number
            facet.codes += bits.tolist()

    def _add_pairs(self, batch: pa.RecordBatch) -> None:
        """Pairs rejected rows with accepted ones, which come first: another attempt, or else the same problem."""
        rejected = "reasons" in batch.schema.names
        pairs = zip(problems(batch).to_pylist(), batch["ordinal"].to_pylist(), strict=True)
        for row, (problem, ordinal) in enumerate(pairs, self.rows):
            if not rejected:
                self._accepted.setdefault((problem, ordinal), row)
                self._accepted.setdefault((problem, None), row)
            elif (other := self._accepted.get((problem, ordinal), self._accepted.get((problem, None)))) is not None:
                self._pairs[row] = other

    @property
    def rows(self) -> int:
        return len(self._columns["id"])

    @property
    def blocks(self) -> int:
        return len(self._blocks)

    def as_json(self) -> dict[str, Any]:
        facets = {name: vars(facet) for name, facet in self._facets.items()}
        return {**self._columns, "blocks": self._blocks, "filters": facets, "pairs": self._pairs}


def _outcomes(batch: pa.RecordBatch) -> ValueRows:
    """Yields each value with the rows that have it."""
    all_rows = np.arange(len(batch))
    if "reasons" not in batch.schema.names:
        yield ACCEPTED, all_rows
        return
    yield REJECTED, all_rows
    yield from _rows_by_value(
        pc.list_parent_indices(batch["reasons"]), kinds_of_reasons(pc.list_flatten(batch["reasons"]))
    )


def _drawn(batch: pa.RecordBatch) -> ValueRows:
    """Yields the draws for the student's messages, by the labels that describe them."""
    of = pc.list_parent_indices(batch["turns"])
    drawn = [values for column, values in described_labels(batch) if column.drawn]
    said = [np.asarray(of.filter(values.is_valid())) for values in drawn]
    yield "none", np.setdiff1d(np.arange(len(batch)), np.concatenate(said) if said else np.array([], np.int64))
    for values in drawn:
        yield from _rows_by_value(of, values)


def _programs(batch: pa.RecordBatch) -> ValueRows:
    turns = pc.list_flatten(batch["turns"])
    calculation = below(turns, "calculation")
    of = np.asarray(pc.list_parent_indices(batch["turns"]))
    used = of[np.asarray(calculation.is_valid())]
    yield "none", np.setdiff1d(np.arange(len(batch)), used)
    yield "some", used
    attempts = pc.struct_field(calculation, "attempts")
    status = named(below(attempts.flatten(), "execution", "status"), "STATUS_")
    failed = np.asarray(pc.fill_null(pc.not_equal(status, "ok"), True))
    yield "one that failed", of[np.asarray(pc.list_parent_indices(attempts))[failed]]


def _rows_by_value(rows: pa.Array, values: pa.Array) -> ValueRows:
    for value in sorted(value_counts(values)):
        yield value, rows.filter(pc.equal(values, value))


REPORT = "report.html"
# Browsers open a larger file slowly.
MOST_BROWSED = 50_000
# Reading a conversation unpacks one block; a search unpacks them all.
ROWS_A_BLOCK = 100
# How a page says who wrote it, and the first bytes, which hold it.
_GENERATOR = b'<meta name="generator" content="soliloquy report">'
_HEAD_BYTES = 4096
# Level 6 makes the file a tenth smaller and takes twice as long.
_LEVEL = 4
# Half of a dataset's bytes; neither the figures nor the page show them.
_CALLS = ("turns.calls", "rewinds.turns.calls", "problem.enrichment.calls")
_UNREAD = [f"{calls}.raw" for calls in _CALLS]
_PAGE = Path(__file__).parent / "page"
_STYLES = (SHARED / "colours.css", SHARED / "conversation.css", _PAGE / "page.css")
# In the order of their imports.
_SCRIPTS = (
    *(SHARED / f"{name}.js" for name in ("element", "interaction", "python", "conversation")),
    *(_PAGE / f"{name}.js" for name in ("columns", "blocks", "search", "compare", "page")),
)
# The scripts are inlined as one, which has nothing to import.
_MODULE_SYNTAX = re.compile(r"^import [^;]*;\n|^export ", re.MULTILINE)


def write_report(dataset: Dataset, out: Path, families: Families) -> DatasetSummary:
    """Reads the dataset once and leaves `out` whole; what was counted is what a card is made from."""
    if "run" not in dataset.manifest:
        raise NoDataset(f"{dataset.folder} is not finished: run its command again to finish it")
    found, index = Findings(sample=CheckedSample(dataset.count()), families=families), ReportIndex()
    every = max(1, -(-(dataset.count() + dataset.count(rejected=True)) // MOST_BROWSED))
    with tempfile.TemporaryFile() as body:
        for rejected in (False, True):
            for batch in dataset.batches(without=_UNREAD, rejected=rejected):
                found.add(batch, rejected=rejected)
                _add_blocks(batch.take(pa.array(range(0, len(batch), every))) if every > 1 else batch, index, body)
        services: Counter[str] = Counter()
        for batch in dataset.timings():
            found.durations.add(batch)
            services.update(value_counts(pc.list_flatten(batch["services"])))
        # The manifest of a table does not count them.
        arrival = {"services": listed(services, {}, services_in(dataset.manifest))}
        counted = DatasetSummary(
            manifest=dataset.manifest | {"arrival": arrival}, accepted=found.accepted, rejected=found.rejected
        )
        body.seek(0)
        with atomic_file(out) as file:
            file.write(_page(counted, found, index).encode())
            shutil.copyfileobj(body, file)
            file.write(b"</body>\n</html>\n")
    return counted


def is_report(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _GENERATOR in file.read(_HEAD_BYTES)
    except OSError:
        return False


def packed(content: Any) -> str:
    """Returns deflated JSON in base64, which holds nothing that could end the element around it."""
    deflate = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(to_json(content)) + deflate.flush()).decode("ascii")


def _add_blocks(batch: pa.RecordBatch, index: ReportIndex, body: IO[bytes]) -> None:
    blocks = [batch.slice(start, ROWS_A_BLOCK) for start in range(0, len(batch), ROWS_A_BLOCK)]
    for number, rows in enumerate(blocks, start=index.blocks):
        body.write(f'<script type="text/plain" id="block-{number}">{packed(columns(rows))}</script>\n'.encode())
    index.add(batch, list(map(len, blocks)))


def _page(counted: DatasetSummary, found: Findings, index: ReportIndex) -> str:
    style = "".join(path.read_text("utf-8") for path in _STYLES)
    script = '"use strict";\n' + "\n".join(_MODULE_SYNTAX.sub("", path.read_text("utf-8")) for path in _SCRIPTS)
    return Template((_PAGE / "page.html").read_text("utf-8")).substitute(
        title=escape(title(counted.accepted)),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        overview=overview(counted, found, browsed=index.rows),
        index=packed(index.as_json() | {"words": words_of(counted.accepted.recipe_name, counted.accepted.recipe)}),
    )


def _hash(text: str) -> str:
    """Returns the hash by which the page allows this script, and nothing that a conversation brings."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
