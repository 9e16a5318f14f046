"""Reads and writes files in a local folder or in an object store (any URL that fsspec knows)."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from soliloquy.runtime.extensions import installation
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import NotRegular, require_regular

if TYPE_CHECKING:
    from pyarrow import NativeFile, fs

T = TypeVar("T")

# The largest file that is read as a whole, such as a manifest.
MOST_BYTES = 64 * 1024**2
# The library of each extra, which fsspec names where it is missing.
_LIBRARIES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs"}


class StorageUnavailable(Failure, OSError):
    """The storage failed; the message names it and its error."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class StoredFile:
    name: str
    size: int
    # Another one for other content.
    version: str


class Storage:
    """Every file appears complete or not at all: renamed into a folder, or put as one object."""

    def __init__(self, location: str | Path) -> None:
        try:
            # Others write there too, and a listing that fsspec keeps would hide what they did.
            self._files, self._root = url_to_fs(str(location), use_listings_cache=False)
        except ImportError as error:
            extra = next((extra for extra, library in _LIBRARIES.items() if library in str(error)), None)
            hint = installation(extra) if extra else str(error)
            raise StorageUnavailable(f"{location} requires a library that is not installed: {hint}") from error
        except ValueError as error:
            raise StorageUnavailable(
                f"{location} is not a folder or URL of a known kind: use e.g. s3://bucket/folder"
            ) from error
        self.folder = Path(self._root) if isinstance(self._files, LocalFileSystem) else None
        self.url = str(location).rstrip("/") or "/"

    def __str__(self) -> str:
        return self.url

    def read(self, name: str, most_bytes: int = MOST_BYTES) -> bytes | None:
        """Returns None if there is no such file; raises NotRegular, also for a file of more than `most_bytes`."""

        def read() -> bytes | None:
            try:
                self._require_regular(name)
                if (size := self._files.size(self._path(name)) or 0) > most_bytes:
                    raise NotRegular(errno.EFBIG, f"it has {size:,} bytes; the most is {most_bytes:,}", name)
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

        return self.attempt(read)

    def write(self, name: str, content: bytes) -> None:
        if self.folder is None:
            self.attempt(lambda: self._files.pipe_file(self._path(name), content))
            return
        unfinished = self._unfinished(name)
        unfinished.write_bytes(content)
        self.put(name, unfinished)

    def copy(self, file: Path, name: str) -> None:
        if self.folder is None:
            self.attempt(lambda: self._files.put_file(str(file), self._path(name)))
            return
        self.put(name, Path(shutil.copyfile(file, self._unfinished(name))))

    def put(self, name: str, file: Path) -> None:
        """Moves a local file there; it is on the disk when this returns."""
        if self.folder is None:
            self.attempt(lambda: self._files.put_file(str(file), self._path(name)))
            file.unlink()
            return
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.stat().st_dev != target.parent.stat().st_dev:
            # A rename works only within one file system.
            file = Path(shutil.move(file, target.parent / f".{target.name}.unfinished"))
        _flush(file)
        file.replace(target)
        _flush(target.parent)

    def create(self, name: str, content: bytes) -> bool:
        """Writes the file unless it exists; returns whether it was written."""

        def create() -> bool:
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
            return True

        return self.attempt(create)

    def remove(self, name: str) -> None:
        self.attempt(lambda: self._files.rm_file(self._path(name)))

    def remove_all(self) -> None:
        """Removes the location itself."""
        self.attempt(lambda: self._files.rm(self._root, recursive=True))

    def names(self, folder: str) -> list[str]:
        """Returns the sorted paths of what is in one of its folders."""
        return sorted(f"{folder}/{_last(one)}" for one in self._listed(self._path(folder)))

    def folders(self) -> list[str]:
        """Returns the sorted names of the folders at the location itself."""
        return sorted(_last(one) for one in self._listed(self._root) if one["type"] == "directory")

    def files(self) -> list[StoredFile]:
        """Returns the files of the location itself, sorted by name."""
        return sorted(
            StoredFile(
                name=_last(one), size=one["size"], version=str(one.get("ETag") or one.get("etag") or one.get("mtime"))
            )
            for one in self._listed(self._root)
            if one["type"] == "file"
        )

    def _listed(self, folder: str) -> list[dict[str, Any]]:
        def listed() -> list[dict[str, Any]]:
            try:
                return list(self._files.ls(folder, detail=True))
            except FileNotFoundError:
                return []

        return self.attempt(listed)

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        self._require_regular(name)
        with self.attempt(lambda: self._files.open(self._path(name), "rb")) as file:
            yield file

    def opened_by_arrow(self, name: str) -> "NativeFile":
        """Opens a file for Arrow's own readers; raises OSError."""
        self._require_regular(name)
        files, root = self.for_arrow()
        return files.open_input_file(f"{root}/{name}")

    def for_arrow(self) -> tuple["fs.FileSystem", str]:
        """Returns the file system and root for Arrow, which reads local files itself."""
        from pyarrow import fs

        if self.folder is not None:
            return fs.LocalFileSystem(), self._root
        return fs.PyFileSystem(fs.FSSpecHandler(self._files)), self._root

    def _unfinished(self, name: str) -> Path:
        assert self.folder is not None
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f".{path.name}.unfinished")

    def _require_regular(self, name: str) -> None:
        if self.folder is not None:
            require_regular(self.folder / name)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def attempt(self, act: Callable[[], T]) -> T:
        """Turns the errors of the object stores, which each have their own, into StorageUnavailable."""
        try:
            return act()
        except Exception as error:
            if self.folder is not None:
                raise
            raise StorageUnavailable(f"{self.url} failed ({error})") from error


def _last(listed: dict[str, Any]) -> str:
    return str(listed["name"]).rpartition("/")[2]


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
