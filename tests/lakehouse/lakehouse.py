"""A catalog in PostgreSQL and a warehouse in S3, as pyiceberg's variables name them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lakehouse.postgres import Postgres
from tests.lakehouse.store import KEY, WAREHOUSE, ObjectDisk

STORE = "iceberg:prod/tutoring"


@dataclass(frozen=True, kw_only=True)
class Lakehouse:
    catalog: Postgres
    warehouse: ObjectDisk

    @property
    def environment(self) -> Mapping[str, str]:
        return environment(self.catalog.url, self.warehouse)


def environment(catalog: str, warehouse: ObjectDisk) -> Mapping[str, str]:
    settings = {
        "URI": catalog,
        "WAREHOUSE": WAREHOUSE,
        "S3__ENDPOINT": warehouse.url,
        "S3__ACCESS_KEY_ID": KEY,
        "S3__SECRET_ACCESS_KEY": KEY,
        "S3__REGION": "us-east-1",
    }
    return {f"PYICEBERG_CATALOG__PROD__{name}": value for name, value in settings.items()}


@contextmanager
def lakehouse(folder: Path) -> Iterator[Lakehouse]:
    with Postgres() as catalog, ObjectDisk(folder) as warehouse:
        yield Lakehouse(catalog=catalog, warehouse=warehouse)
