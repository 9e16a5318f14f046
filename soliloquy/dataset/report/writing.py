"""Writes the page: its parts are put into one file, in the order in which a browser needs them."""

import base64
import hashlib
import re
import shutil
import tempfile
import zlib
from html import escape
from pathlib import Path
from string import Template
from typing import IO, Any

import pyarrow as pa
from pydantic_core import to_json

from soliloquy.dataset.card import DatasetSummary, title
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.report.findings import Families, Findings
from soliloquy.dataset.report.index import ReportIndex
from soliloquy.dataset.report.overview import overview
from soliloquy.dataset.report.sample import CheckedSample
from soliloquy.dataset.view import columns, words_of
from soliloquy.runtime.atomic_file import atomic_file
from soliloquy.web import FOLDER as SHARED

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
        for batch in dataset.timings():
            found.durations.add(batch)
        counted = DatasetSummary(manifest=dataset.manifest, accepted=found.accepted, rejected=found.rejected)
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
