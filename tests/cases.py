"""Tables of cases from the TOML file beside a test module."""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., object])


def each_case(test: Test) -> Test:
    """Parametrizes a test by the table of its name in its module's TOML file; a key that a case lacks is None.

    The table is an array of cases, or has a case under the name of each.
    """
    table = _tables(test.__code__.co_filename)[test.__name__.removeprefix("test_")]
    rows, ids = ([*table.values()], [*table]) if isinstance(table, dict) else (table, None)
    names = list(dict.fromkeys(name for row in rows for name in row))
    marked: Test = pytest.mark.parametrize(names, [[row.get(name) for name in names] for row in rows], ids=ids)(test)
    return marked


@cache
def _tables(module: str) -> dict[str, Any]:
    return tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
