"""The adapters that were made, and which of them is active: a folder, or a place in any object store."""

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from soliloquy.dataset.storage import Storage
from soliloquy.runtime.weights import digest_of
from training.adapters.version import Version

_ACTIVE = "active.json"
_VERSIONS, _FILES = "versions", "files"


class UnknownVersion(Exception):
    """The registry has no such version, or more than one."""


class ConcurrentActivation(Exception):
    """Another activation came between: what is active is not what this one began with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Active:
    """What answers under a name, and what did before, the last at the end."""

    version: str
    since: str
    before: tuple[str, ...] = ()

    def followed_by(self, version: Version) -> "Active":
        return Active(version=version.id, since=_now(), before=(*self.before, self.version))


class Registry:
    def __init__(self, where: str) -> None:
        self._place = Storage(where)

    def __str__(self) -> str:
        return str(self._place)

    def push(self, version: Version, folder: Path) -> bool:
        """Keeps its files; False where they are there. A version is listed when all of it is kept."""
        if self._place.read(_index(version)) is not None:
            return False
        for name in version.files:
            with (folder / name).open("rb") as content:
                self._put(f"{_files(version)}/{name}", content)
        self._write(_index(version), version.as_json())
        return True

    def note(self, version: Version, note: str) -> None:
        """Of a version that was pushed; in the place of what was noted before."""
        self._write(_index(version), replace(version, note=note).as_json())

    def versions(self) -> list[Version]:
        found = (self._place.read(name) for name in self._place.names(_VERSIONS) if name.endswith(".json"))
        return [Version.from_json(content) for content in found if content is not None]

    def find(self, asked: str) -> Version:
        """By NAME@DIGEST, of which the beginning is enough; by NAME alone where it has one version."""
        name, _, digest = asked.partition("@")
        found = [one for one in self.versions() if one.name == name and one.digest.startswith(digest)]
        if len(found) != 1:
            known = ", ".join(one.id for one in (found or self.versions())) or "none"
            raise UnknownVersion(f"{len(found)} versions in {self} are called {asked!r}: name one of them: {known}")
        return found[0]

    def path(self, version: Version, cache: Path | None) -> Path:
        """Its folder on this machine: the registry's own, or a copy where the registry is in an object store."""
        if self._place.folder is not None:
            return self._place.folder / _files(version)
        if cache is None:
            raise UnknownVersion(f"{self} is no folder: name one that all replicas read, for copies, with --cache")
        folder = cache / version.id
        for name, digest in version.files.items():
            if not (folder / name).is_file() or digest_of([folder / name]) != digest:
                self._fetch(f"{_files(version)}/{name}", folder / name)
        return folder

    def active(self) -> dict[str, Active]:
        """By the name that requests give."""
        kept: dict[str, Any] = json.loads(self._place.read(_ACTIVE) or b"{}")
        return {name: Active(**{**entry, "before": tuple(entry["before"])}) for name, entry in kept.items()}

    def activate(self, name: str, active: Active, *, instead_of: Active | None) -> None:
        """In one write; ConcurrentActivation where something else is active by now than when the caller looked."""
        record = self.active()
        if record.get(name) != instead_of:
            raise ConcurrentActivation(f"{name} was activated by somebody else meanwhile: look at it, and try again")
        self._write(_ACTIVE, {each: asdict(entry) for each, entry in {**record, name: active}.items()})

    def _write(self, name: str, content: Any) -> None:
        with tempfile.SpooledTemporaryFile() as file:
            file.write(json.dumps(content, indent=2).encode())
            file.seek(0)
            self._put(name, file)

    def _put(self, name: str, content: Any) -> None:
        """Of any size; beside its place first, so that it can be renamed there."""
        beside = self._place.folder
        if beside is not None:
            beside.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=beside, prefix=".", suffix=".unfinished", delete=False) as unfinished:
            shutil.copyfileobj(content, unfinished)
        try:
            Path(unfinished.name).chmod(0o644)
            self._place.put(name, Path(unfinished.name))
        finally:
            Path(unfinished.name).unlink(missing_ok=True)

    def _fetch(self, name: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.unfinished")
        with self._place.opened(name) as source, unfinished.open("wb") as target:
            shutil.copyfileobj(source, target)
        unfinished.replace(path)


def first_activation(version: Version) -> Active:
    return Active(version=version.id, since=_now())


def _index(version: Version) -> str:
    return f"{_VERSIONS}/{version.id}.json"


def _files(version: Version) -> str:
    return f"{_FILES}/{version.id}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
