"""Reads the files of a folder that others published: CSV, JSON and JSONL."""

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NUMBERS_IN_A_LIST = re.compile(r"\d+")


def entries(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yields each row of a table and each JSON value, with the name of its file; numbered files share a name."""
    csv.field_size_limit(sys.maxsize)
    for path in sorted(folder.rglob("*")):
        name = unnumbered(re.sub(r"_\w+(?=\.json$)", "", path.relative_to(folder).as_posix()))
        match path.suffix:
            case ".csv":
                with path.open(newline="", encoding="utf-8-sig") as file:
                    yield from ((name, row) for row in csv.DictReader(file))
            case ".json":
                yield name, json.loads(path.read_text("utf-8"))
            case ".jsonl":
                yield from ((name, json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip())


def unnumbered(name: str) -> str:
    return _NUMBERS_IN_A_LIST.sub("N", name)
