"""Other engines count in a table what Dataset counts, by the queries of the documentation."""

from collections.abc import Iterator, Mapping

import duckdb
import polars
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table
from pyiceberg.utils.config import Config

from soliloquy.dataset.reading import Dataset
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.iceberg.queries import FOUND, QUERIES, filled

Counts = Mapping[str, Mapping[str, int]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Table, Counts]]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        # Its faster planner is a package of its own.
        monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
        location = catalog_in(tmp_path_factory.mktemp("catalog"), monkeypatch)
        counts = filled(location)
        for dataset, kinds in counts.items():
            read = Dataset(f"{location}/{dataset}")
            assert (read.count(), read.count(rejected=True)) == (kinds["accepted"], kinds.get("rejected", 0))
        catalog = load_catalog("prod", **Config().get_catalog_config("prod"))  # type: ignore[arg-type]
        yield catalog.load_table("tutoring.conversations"), counts


@pytest.mark.parametrize(("query", "found"), [*zip(QUERIES, FOUND, strict=True)])
def test_duckdb_answers_what_people_ask_first(store: tuple[Table, Counts], query: str, found: list[object]) -> None:
    with duckdb.connect() as engine:
        engine.register("conversations", store[0].scan().to_arrow())
        assert engine.execute(query).fetchall() == found


def test_polars_counts_what_a_dataset_counts(store: tuple[Table, Counts]) -> None:
    table, counts = store
    rows = polars.scan_iceberg(table).group_by("dataset", "kind").len().collect().rows()
    assert {(dataset, kind): number for dataset, kind, number in rows} == {
        (dataset, kind): number for dataset, kinds in counts.items() for kind, number in kinds.items()
    }


def test_pandas_has_a_row_for_each_conversation(store: tuple[Table, Counts]) -> None:
    table, counts = store
    frame = table.scan(row_filter="dataset = 'run-soliloquy'").to_pandas()
    assert frame["kind"].value_counts().to_dict() == counts["run-soliloquy"]
    assert {*frame["problem"].map(lambda problem: problem["topic"])} == {"motion"}
