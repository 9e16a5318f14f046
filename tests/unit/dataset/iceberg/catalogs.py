"""Catalogs in a folder, as pyiceberg's own variables configure them."""

from pathlib import Path

import pytest

from soliloquy.dataset.iceberg.tables import Location


def catalog_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    """Configures a catalog `prod` in SQLite with its warehouse beside it; returns a namespace of it."""
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{folder}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", f"file://{folder}/warehouse")
    return Location.parsed("iceberg:prod/tutoring")
