"""`python -m benchmarks reading`."""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.command import AS_JSON
from benchmarks.published import entries, unnumbered
from soliloquy.cli.tables import table
from soliloquy.truth.calculations import calculations_of

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# Sources with fewer calculations say little.
_FEWEST = 20


@dataclass(kw_only=True)
class Found:
    """Counts for the texts of one column."""

    texts: int = 0
    equals_signs: int = 0
    calculations: int = 0
    # Called false as published: errors of the texts, and false alarms.
    called_false: int = 0
    # Right calculations in which one digit of the stated number was changed, and how many of them were found.
    planted: int = 0
    planted_found: int = 0


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--list", "listed", is_flag=True, help="List what is called false and which planted errors were missed.")
@AS_JSON
def reading(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Measure how the calculations in other people's texts are read.

    FOLDER holds published data: CSV, JSON and JSONL files. Each of their text columns is read. A calculation that is
    called false is either an error of the text or a false alarm: `--list` shows them, to be looked at.
    """
    found: dict[str, Found] = defaultdict(Found)
    lines: list[str] = []
    drawn = random.Random(1)
    seen: set[str] = set()
    for source, text in _texts(folder):
        if text not in seen:
            seen.add(text)
            _read(source, text, found[source], lines, drawn)
    telling = {source: counts for source, counts in sorted(found.items()) if counts.calculations >= _FEWEST}
    if as_json:
        click.echo(json.dumps({source: asdict(counts) for source, counts in telling.items()}))
        return
    made = table("texts of", "texts", "= signs", "calculations", "called false", "planted errors found")
    for source, counts in telling.items():
        columns = (counts.texts, counts.equals_signs, counts.calculations, counts.called_false)
        made.add_row(
            source,
            *(f"{count:,}" for count in columns),
            _share(counts.planted_found, counts.planted),
        )
    Console().print(made)
    if listed:
        click.echo("\n".join(lines))


def _read(source: str, text: str, counts: Found, lines: list[str], drawn: random.Random) -> None:
    links = calculations_of(text)
    counts.texts += 1
    counts.equals_signs += text.count("=")
    counts.calculations += len(links)
    for link in links:
        if not link.right:
            counts.called_false += 1
            lines.append(f"{source}: false: {' '.join(link.text.split())} (it is {link.value:g})")
        elif planted := _planted(link.text, link.stated_at - link.start, drawn):
            counts.planted += 1
            is_found = any(not one.right for one in calculations_of(planted))
            counts.planted_found += is_found
            if not is_found:
                lines.append(f"{source}: missed: {' '.join(planted.split())}")


def _share(found: int, planted: int) -> str:
    return f"{found:,} of {planted:,} ({found / max(planted, 1):.1%})"


def _planted(text: str, start: int, drawn: random.Random) -> str:
    """Returns the text with another digit in its first number from `start`; empty without a number."""
    number = _NUMBER.search(text, start)
    if number is None:
        return ""
    places = [place for place in range(*number.span()) if text[place].isdigit()]
    place = drawn.choice(places)
    other = str((int(text[place]) + drawn.randint(1, 9)) % 10)
    return text[:place] + other + text[place + 1 :]


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields each text with the name of its file and column."""
    for name, value in entries(folder):
        yield from _strings(f"{name} {{}}", value)


def _strings(source: str, value: Any, column: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield source.format(column), value
        case dict():
            for key, inner in value.items():
                yield from _strings(source, inner, unnumbered(str(key)) or column)
        case list():
            for inner in value:
                yield from _strings(source, inner, column)
