"""`python -m benchmarks size`."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click
from rich.console import Console

from benchmarks.command import AS_JSON, table

ROOT = Path(__file__).parents[1]
CEILINGS: Mapping[str, int] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["ceilings"]
_PRODUCT = ("soliloquy", "papers", "services", "training")
_WORDS = (".txt", ".toml", ".lark", ".md", ".json")


class Part(NamedTuple):
    lines: int
    files: int
    # The lines of a file of usual size.
    median: int


def parts() -> dict[str, Part]:
    """Measures the parts of the product that have a ceiling, without generated code."""
    product = [path for folder in _PRODUCT for path in _python(ROOT / folder)]
    truth = [path for path in (ROOT / "soliloquy/truth").rglob("*") if path.suffix in (".py", *_WORDS)]
    scripted = [path for path in product if {"scripted", "standin"} & {*path.parts}]
    groups = {
        "product": product,
        "truth, tables included": truth,
        "stand-in": scripted,
        "recipes": [path for path in _python(ROOT / "soliloquy/recipes") if path not in scripted],
        **{name: [*_python(ROOT / "soliloquy" / name)] for name in ("cli", "dataset", "problems", "runs", "runtime")},
        **{name: [*_python(ROOT / name)] for name in ("papers", "services", "training", "tests")},
    }
    return {
        name: _part([len(path.read_text("utf-8").splitlines()) for path in paths]) for name, paths in groups.items()
    }


def _python(folder: Path) -> Iterator[Path]:
    yield from (path for path in sorted(folder.rglob("*.py")) if "_pb2" not in path.name)


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def _part(lines: Iterable[int]) -> Part:
    counts = [*lines]
    return Part(sum(counts), len(counts), round(median(counts)))


@click.command()
@AS_JSON
def size(*, as_json: bool) -> None:
    """Count the lines of each part of the tree, beside the ceiling that a test holds it to."""
    found = parts()
    if as_json:
        click.echo(json.dumps({name: {**part._asdict(), "ceiling": CEILINGS[name]} for name, part in found.items()}))
        return
    shown = table("part", "lines", "at most", "files", "median file")
    for name, part in found.items():
        shown.add_row(name, f"{part.lines:,}", f"{CEILINGS[name]:,}", f"{part.files:,}", str(part.median))
    Console().print(shown)
