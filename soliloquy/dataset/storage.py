"""Where a dataset lies: a folder of this machine, or one of an object store (any URL that fsspec knows)."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

if TYPE_CHECKING:
    from pyarrow import fs

T = TypeVar("T")


class StorageUnavailable(OSError):
    """The place does not take or give what it should; the message names it and what it says."""


class Storage:
    """Every file appears whole or not at all: renamed into a folder, put as one object elsewhere."""

    def __init__(self, where: str | Path) -> None:
        self._files, self._root = _opened(str(where))
        self.folder = Path(self._root) if isinstance(self._files, LocalFileSystem) else None
        self.url = str(where).rstrip("/") or "/"

    def __str__(self) -> str:
        return self.url

    def read(self, name: str) -> bytes | None:
        """None where there is no such file."""

        def read() -> bytes | None:
            try:
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

        return self._tried(read)

    def write(self, name: str, content: bytes) -> None:
        if self.folder is None:
            self._tried(lambda: self._files.pipe_file(self._path(name), content))
            return
        unfinished = self.folder / f".{name}.unfinished"
        unfinished.write_bytes(content)
        self.put(name, unfinished)

    def put(self, name: str, file: Path) -> None:
        """Takes a file of this machine away and there; on the disk when this returns."""
        if self.folder is None:
            self._tried(lambda: self._files.put_file(str(file), self._path(name)))
            file.unlink()
            return
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.stat().st_dev != target.parent.stat().st_dev:
            # Only on one disk can it be renamed.
            file = Path(shutil.move(file, target.parent / f".{target.name}.unfinished"))
        _flush(file)
        file.replace(target)
        _flush(target.parent)

    def create(self, name: str, content: bytes) -> bool:
        """Writes a file that is not there; False where it is."""

        def create() -> bool:
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
            return True

        return self._tried(create)

    def remove(self, name: str) -> None:
        self._tried(lambda: self._files.rm_file(self._path(name)))

    def names(self, folder: str) -> list[str]:
        """Of the files in one of its folders, with the folder."""

        def names() -> list[str]:
            # An object store may remember what it listed.
            self._files.invalidate_cache()
            try:
                found = self._files.ls(self._path(folder), detail=False)
            except FileNotFoundError:
                return []
            return sorted(f"{folder}/{path.rpartition('/')[2]}" for path in found)

        return self._tried(names)

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        with self._tried(lambda: self._files.open(self._path(name), "rb")) as file:
            yield file

    def for_arrow(self) -> tuple["fs.FileSystem", str]:
        """The same as Arrow sees it, which reads a file of this machine by itself."""
        from pyarrow import fs

        if self.folder is not None:
            return fs.LocalFileSystem(), self._root
        return fs.PyFileSystem(fs.FSSpecHandler(self._files)), self._root

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _tried(self, act: Callable[[], T]) -> T:
        """Each file system has errors of its own kind; what is said of them is the same."""
        try:
            return act()
        except Exception as error:
            if self.folder is not None:
                raise
            raise StorageUnavailable(f"{self.url} does not answer as it should ({error})") from error


def _opened(where: str) -> tuple[AbstractFileSystem, str]:
    try:
        files, root = url_to_fs(where)
    except (ImportError, ValueError) as error:
        raise StorageUnavailable(f"{where} cannot be opened ({error})") from error
    return files, root


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
