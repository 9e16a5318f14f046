"""Lists the families of a bank with what a report says of them, without reading their questions."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FAMILIES = Path(__file__).with_name("families")


class CatalogueEntry(NamedTuple):
    topic: str
    # From 1, the easiest, to 3.
    difficulty: int


@cache
def catalogue(bank: str) -> Mapping[str, CatalogueEntry]:
    """Returns the families by name; none for a name that is no bank's."""
    # The name may come from a dataset's text.
    folder = next((folder for folder in _FAMILIES.iterdir() if folder.name == bank), None)
    return {
        path.stem: CatalogueEntry(path.parent.name, tomllib.loads(path.read_text("utf-8"))["difficulty"])
        for path in sorted(folder.glob("*/*.toml") if folder else ())
    }
