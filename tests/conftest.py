"""Which tests run in one process, where several share them: those of a file, and of all files that need the same."""

import itertools
from pathlib import Path

import pytest

# Fixtures that take seconds to make, or load torch: each is there once, and not once a process.
DEAR = ("kafka", "base", "pool", "object_store", "reference")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for path, those in itertools.groupby(items, key=lambda item: item.path):
        of_file = list(those)
        group = pytest.mark.xdist_group(_needed(of_file) or _from_here(path))
        for item in of_file:
            item.add_marker(group)


def _needed(items: list[pytest.Item]) -> str | None:
    used = {name for item in items if isinstance(item, pytest.Function) for name in item.fixturenames}
    return next((name for name in DEAR if name in used), None)


def _from_here(path: Path) -> str:
    return str(path.relative_to(Path(__file__).parent))
