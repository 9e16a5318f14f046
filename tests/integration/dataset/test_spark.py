"""Spark counts in a table what `soliloquy verify` counts, and answers the queries of the documentation."""

import json
import subprocess
from pathlib import Path

import pytest

from soliloquy.dataset.iceberg.compaction import compact
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.verify import findings_at
from tests.spark import PYTHON, jars, needs_spark
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.iceberg.queries import FOUND, QUERIES, filled

_CATALOG = "spark.sql.catalog.prod"
ANSWER = Path(__file__).parents[2] / "spark" / "answer.py"


def answers(folder: Path, *queries: str) -> list[list[list[object]]]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.defaultCatalog": "prod",
        _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{_CATALOG}.type": "jdbc",
        f"{_CATALOG}.uri": f"jdbc:sqlite:{folder}/catalog.db",
        f"{_CATALOG}.warehouse": f"file://{folder}/warehouse",
        f"{_CATALOG}.jdbc.schema-version": "V0",
    }
    asked = {"jars": [str(jar) for jar in jars()], "settings": settings, "queries": queries}
    done = subprocess.run(
        [PYTHON, ANSWER], input=json.dumps(asked), capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[list[object]]] = json.loads(done.stdout.splitlines()[-1])
    return found


@needs_spark
@pytest.mark.thorough
def test_spark_reads_and_rewrites_what_collectors_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = catalog_in(tmp_path, monkeypatch)
    counts = filled(location)
    queries = [query.replace("unnest(", "LATERAL explode(") for query in QUERIES]
    # Somebody deletes a conversation, and rewrites the files as Spark does.
    rewritten = [
        "USE prod.tutoring",
        *queries,
        "DELETE FROM conversations WHERE id = 'c5000'",
        "CALL prod.system.rewrite_data_files(table => 'tutoring.conversations', options => map('rewrite-all', 'true'))",
    ]
    found = answers(tmp_path, *rewritten)
    assert [[tuple(row) for row in rows] for rows in found[1 : 1 + len(queries)]] == FOUND
    for dataset, kinds in counts.items():
        place = f"{location}/{dataset}"
        assert list(findings_at(place)) == []
        assert Dataset(place).count() == kinds["accepted"] - (dataset == "run-soliloquy")
    assert [one.id for one in Dataset(f"{location}/run-soliloquy")] == ["c1", "c2"]
    compact(location, 0.0)
    assert [one.id for one in Dataset(f"{location}/run-soliloquy")] == ["c1", "c2"]
    marked = "ALTER TABLE conversations SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    answers(tmp_path, "USE prod.tutoring", marked, "DELETE FROM conversations WHERE id = 'c1'")
    with pytest.raises(NoDataset, match="only marks as deleted: run soliloquy compact"):
        list(Dataset(f"{location}/run-soliloquy"))
    compact(location, 0.0)
    assert [one.id for one in Dataset(f"{location}/run-soliloquy")] == ["c2"]
