"""Lists what a warehouse holds, also of tables that no catalog knows."""

import re
from collections.abc import Iterator, Mapping

from pyarrow.fs import FileInfo, FileSelector
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import PyArrowFileIO

METADATA = ".metadata.json"
_NUMBERED = re.compile(rf"(\d+)-.*{re.escape(METADATA)}")


def files_under(folder: str, properties: Mapping[str, str]) -> Iterator[tuple[str, FileInfo]]:
    """Yields the URL of each file in a folder and the folders below; none if there is no such folder."""
    files = PyArrowFileIO({**properties})
    scheme, server, root = files.parse_location(folder)
    selected = FileSelector(root, recursive=True, allow_not_found=True)
    for found in files.fs_by_scheme(scheme, server).get_file_info(selected):
        if found.is_file:
            yield folder + found.path.removeprefix(root), found


def metadata_files(catalog: Catalog, namespace: str, table: str) -> dict[str, tuple[int, FileInfo]]:
    """Returns the files of metadata below the configured warehouse, each with its number.

    None where only a server knows the places of its tables.
    """
    warehouse = catalog.properties.get("warehouse", "").rstrip("/")
    found = files_under(f"{warehouse}/{namespace}/{table}/metadata", catalog.properties) if "://" in warehouse else ()
    numbered = ((url, _NUMBERED.fullmatch(url.rpartition("/")[2]), info) for url, info in found)
    return {url: (int(name[1]), info) for url, name, info in numbered if name}
