"""Keeps an earlier version from writing rows without the columns that a later one has added."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version

from soliloquy.dataset.manifest import UnreadableManifest
from soliloquy.runtime.distribution import NAME
from soliloquy.runtime.extensions import installed_entry_points

# Each package that defines columns has a property with the version that last added some.
_COLUMNS_BY = "soliloquy.columns-by."


def columns_by(recipe: str) -> dict[str, str]:
    """Returns the properties of a table that has all columns of this recipe."""
    points = installed_entry_points().select(group="soliloquy.recipes", name=recipe)
    packages = {NAME, *(point.dist.name for point in points if point.dist)}
    return {f"{_COLUMNS_BY}{name}": version(name) for name in packages}


def require_known_columns(store: str, properties: Mapping[str, str]) -> None:
    """Raises UnreadableManifest where an installed package is older than its columns."""
    for name, written in properties.items():
        package = name.removeprefix(_COLUMNS_BY)
        if package == name:
            continue
        try:
            ours = version(package)
        except PackageNotFoundError:
            # Nothing here writes its columns.
            continue
        if Version(ours) < Version(written):
            raise UnreadableManifest(f"{store} has columns of {package} {written}; this is {ours}: update {package}")
