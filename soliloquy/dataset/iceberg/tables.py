"""Opens the tables of an installation in a catalog that pyiceberg's own configuration names."""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar, cast

import pyarrow as pa

from soliloquy.dataset.iceberg.rows import PARTITIONED_BY, table_schema
from soliloquy.dataset.layout import TABLES
from soliloquy.dataset.manifest import UnreadableManifest
from soliloquy.dataset.selection import MissingDataset
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure, one_line

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table

T = TypeVar("T")

_LOCATION = re.compile(rf"{TABLES}([\w-]+)/([\w.-]+)(?:/([\w.-]+))?")
# Names each dataset's run, as a JSON object, and holds the prompts that the run changed and its record.
_RUNS = pa.schema(
    [
        ("dataset", pa.string()),
        ("identity", pa.string()),
        ("prompts", pa.map_(pa.string(), pa.string())),
        ("record", pa.string()),
    ]
)
# The property that the table of conversations has while all that the topics hold is to be read again.
UNREAD = "soliloquy.unread"
# Statistics of hundreds of columns would make the manifests longer than the files; these columns find rows.
_FOUND_BY = ("dataset", "kind", "bucket", "id", "ordinal", "attempt", "arrival")
_INSTALLATION = "soliloquy.installation"
_FORMAT_PROPERTY, _FORMAT = "soliloquy.format", "1"
_PROPERTIES = {
    "format-version": "2",
    _FORMAT_PROPERTY: _FORMAT,
    "write.parquet.compression-codec": "zstd",
    "write.parquet.row-group-limit": "1000",
    "write.metadata.metrics.default": "none",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.manifest-merge.enabled": "true",
    # Before a commit is tried again, its rows are compared with those of the commit that came before.
    "commit.retry.num-retries": "0",
    UNREAD: "created",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """A namespace of a catalog, and one of its datasets if `dataset` is not empty."""

    catalog: str
    namespace: str
    dataset: str = ""

    @classmethod
    def parsed(cls, text: str) -> Self:
        if found := _LOCATION.fullmatch(text):
            return cls(catalog=found[1], namespace=found[2], dataset=found[3] or "")
        raise Failure(f"invalid location {text!r}: use iceberg:CATALOG/NAMESPACE or iceberg:CATALOG/NAMESPACE/DATASET")

    @property
    def store(self) -> str:
        return f"{TABLES}{self.catalog}/{self.namespace}"

    def __str__(self) -> str:
        return f"{self.store}/{self.dataset}" if self.dataset else self.store


def attempt(location: Location, act: Callable[[], T]) -> T:
    """Turns the errors of catalogs and warehouses, which each have their own, into StorageUnavailable."""
    try:
        return act()
    except Failure:
        raise
    except Exception as error:
        raise StorageUnavailable(f"{location} failed ({one_line(error)})") from error


NAMES = ("conversations", "runs")
_TABLES = dict(zip(NAMES, ((table_schema(DEFAULT), PARTITIONED_BY), (_RUNS, ())), strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    conversations: "Table"
    runs: "Table"

    @classmethod
    def opened(cls, location: Location) -> Self:
        """Raises MissingDataset where there are none, and StorageUnavailable."""
        catalog = opened_catalog(location)
        return cls(**attempt(location, lambda: _loaded(location, catalog)))

    @classmethod
    def created(cls, location: Location) -> Self:
        """Opens the tables, and creates those that are not there; raises StorageUnavailable."""
        catalog = opened_catalog(location)
        return cls(**attempt(location, lambda: _created(location, catalog)))


def require_installation(location: Location, table: "Table", installation: str) -> None:
    """Claims a table that nobody has claimed; raises Failure for one of another installation."""
    owner = table.properties.get(_INSTALLATION)
    if installation and not owner:
        claim(table, installation)
    elif installation and owner != installation:
        raise Failure(
            f"{location} belongs to {owner}, and this is {installation}: use a namespace of its own, or after a move "
            f"run soliloquy recover {location} --kafka HOST:PORT"
        )


def claim(table: "Table", installation: str) -> None:
    with table.transaction() as change:
        change.set_properties({_INSTALLATION: installation})


def equal(column: str, value: str | int) -> "BooleanExpression":
    from pyiceberg.expressions import EqualTo

    # The checker takes it for a pydantic model without its own constructor.
    return EqualTo(column, value)  # type: ignore[arg-type,call-arg]


def among(column: str, values: Iterable[str]) -> "BooleanExpression":
    from pyiceberg.expressions import In

    return In(column, values)  # type: ignore[arg-type,call-arg]


def opened_catalog(location: Location) -> "Catalog":
    check_installed("tables", "pyiceberg")
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    name = location.catalog
    if not (properties := Config().get_catalog_config(name)):
        variable = f"PYICEBERG_CATALOG__{name.upper()}__URI"
        raise Failure(f"{location}: no catalog {name!r} is configured: set {variable}, or name it in ~/.pyiceberg.yaml")
    return attempt(location, lambda: load_catalog(name, **cast("dict[str, str]", properties)))


def _loaded(location: Location, catalog: "Catalog") -> dict[str, "Table"]:
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    store = location.store
    try:
        tables = {name: catalog.load_table((location.namespace, name)) for name in NAMES}
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        raise MissingDataset(f"{store} holds no datasets: start a collector with --store {store}") from error
    require_format(location, tables["conversations"])
    return tables


def require_format(location: Location, table: "Table") -> None:
    """Raises UnreadableManifest for a table of another format."""
    written = table.properties.get(_FORMAT_PROPERTY)
    if written != _FORMAT:
        raise UnreadableManifest(
            f"{location.store} has tables of format {written}; this version reads format {_FORMAT}: update soliloquy"
        )


def _created(location: Location, catalog: "Catalog") -> dict[str, "Table"]:
    from pyiceberg.exceptions import TableAlreadyExistsError

    from soliloquy.dataset.iceberg.versions import columns_by
    from soliloquy.dataset.iceberg.warehouse import metadata_files

    catalog.create_namespace_if_not_exists(location.namespace)
    for name, (schema, partitioned_by) in _TABLES.items():
        if not catalog.table_exists((location.namespace, name)):
            if metadata_files(catalog, location.namespace, name):
                raise StorageUnavailable(
                    f"{location}: its catalog has lost {name}, whose files are there: run soliloquy recover {location}"
                )
            # REST servers refuse settings of columns that a table does not have.
            found_by = {f"write.metadata.metrics.column.{one}": "full" for one in _FOUND_BY if one in schema.names}
            properties = _PROPERTIES | found_by | columns_by(DEFAULT)
            # Another collector may create it meanwhile.
            with (
                suppress(TableAlreadyExistsError),
                catalog.create_table_transaction((location.namespace, name), schema, properties=properties) as table,
                table.update_spec() as spec,
            ):
                for column in partitioned_by:
                    spec.add_identity(column)
    return _loaded(location, catalog)
