"""The registry of adapters and of the active one for each name, in a folder or an object store."""

import json
import shutil
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter

from soliloquy.dataset.storage import Storage
from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.weights import digest_of
from soliloquy_training.adapters.version import Version, stored_version

_ACTIVE = "active.json"
_VERSIONS, _FILES = "versions", "files"


class NotActivated(Failure):
    """The adapter in service is unchanged; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Active:
    """The version that is active under a name, and earlier ones, the latest last."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    version: str
    since: str
    before: tuple[str, ...] = ()


_RECORD = TypeAdapter(dict[str, Active])


class Registry:
    def __init__(self, where: str) -> None:
        self._storage = Storage(where)

    def __str__(self) -> str:
        return str(self._storage)

    def push(self, version: Version, folder: Path) -> bool:
        """Stores a version; returns False if it is stored already. It is listed only once all its files are stored."""
        if self._storage.read(_index(version)) is not None:
            return False
        for name in version.files:
            self._storage.copy(folder / name, f"{_files(version)}/{name}")
        self._write(_index(version), asdict(version))
        return True

    def note(self, version: Version, note: str) -> None:
        """Replaces the note of a stored version."""
        self._write(_index(version), asdict(replace(version, note=note)))

    def versions(self) -> list[Version]:
        names = [name for name in self._storage.names(_VERSIONS) if name.endswith(".json")]
        found = ((self._storage.read(name), f"{self}/{name}") for name in names)
        return [stored_version(content, place) for content, place in found if content is not None]

    def find(self, asked: str) -> Version:
        """Finds a version by NAME@DIGEST, where a prefix of the digest is enough, or by NAME if it has one version."""
        name, _, digest = asked.partition("@")
        found = [one for one in self.versions() if one.name == name and one.digest.startswith(digest)]
        if len(found) != 1:
            known = ", ".join(one.id for one in (found or self.versions()))
            remedy = f"name one of {known}" if known else "soliloquy adapters push adds one"
            raise Failure(f"{len(found) or 'no'} versions in {self} match {asked!r}: {remedy}")
        return found[0]

    def path(self, version: Version, cache: Path | None) -> Path:
        """Returns a local folder of the version: the registry's own, or a copy from an object store."""
        if self._storage.folder is not None:
            return self._storage.folder / _files(version)
        if cache is None:
            raise Failure(f"{self} is an object store: --cache must name a folder that all replicas read")
        folder = cache / version.id
        folder.mkdir(parents=True, exist_ok=True)
        for name, digest in version.files.items():
            if not (folder / name).is_file() or digest_of([folder / name]) != digest:
                with self._storage.opened(f"{_files(version)}/{name}") as source, atomic_file(folder / name) as target:
                    shutil.copyfileobj(source, target)
        return folder

    def active(self) -> dict[str, Active]:
        """Returns the active version of each name."""
        place, otherwise = f"{self}/{_ACTIVE}", "restore it from a copy"
        try:
            active = _RECORD.validate_json(self._storage.read(_ACTIVE) or b"{}")
        except ValueError as error:
            raise Failure(f"{place} does not say what is active ({one_line(error)}): {otherwise}") from error
        for name, entry in active.items():
            if not all(version.startswith(f"{name}@") for version in (entry.version, *entry.before)):
                raise Failure(f"{place} names no version for {name[:80]!r}: {otherwise}")
        return active

    def activate(self, name: str, active: Active, *, instead_of: Active | None) -> None:
        """Writes the record at once; raises NotActivated unless `instead_of` is still active."""
        record = self.active()
        if record.get(name) != instead_of:
            raise NotActivated(f"{name} was activated by another process in the meantime: check it and try again")
        self._write(_ACTIVE, {each: asdict(entry) for each, entry in {**record, name: active}.items()})

    def _write(self, name: str, content: Any) -> None:
        self._storage.write(name, json.dumps(content, indent=2).encode())


def activation_of(version: Version, before: tuple[str, ...] = ()) -> Active:
    return Active(version=version.id, since=datetime.now(UTC).isoformat(timespec="seconds"), before=before)


def _index(version: Version) -> str:
    return f"{_VERSIONS}/{version.id}.json"


def _files(version: Version) -> str:
    return f"{_FILES}/{version.id}"
