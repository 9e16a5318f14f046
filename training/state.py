"""The state of a training, and of a workflow that trains in rounds: files in a folder that one process locks.

Files appear completely or not at all. One that exists marks a finished step, and the next start continues after it.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from soliloquy.dataset.lock import Locked, write_lock
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tables import table
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_json, refuse_foreign

TABLE = "rounds.md"
PLAN, OUTCOME = "plan", "outcome"

Content = TypeVar("Content")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, kw_only=True, slots=True)
class Workflow:
    """The kind of work in a folder, such as "retraining"."""

    name: str
    # The file that identifies the work.
    file: str
    # The option that names the folder.
    option: str


@contextmanager
def lock_folder(folder: Path, workflow: Workflow, identity: Mapping[str, Any]) -> Iterator[None]:
    """Locks the folder; raises Failure if it holds other work or is in use."""
    refuse_foreign(folder, workflow.file, option=workflow.option)
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(write_lock(Storage(folder), folder))
        except Locked as error:
            raise Failure(
                f"{folder} is in use by another process: wait for it, or choose another {workflow.option}"
            ) from error
        except OSError as error:
            raise Failure(f"cannot write to {folder} ({error.strerror}): choose another folder") from error
        _check(folder, workflow, identity)
        yield


def read(path: Path) -> dict[str, Any]:
    """Returns an empty dict if the file does not exist."""
    try:
        return dict(read_json(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError) as error:
        raise Failure(f"{path} is unreadable ({error}): remove {path.parent}") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises Failure if the disk refuses what is written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise Failure(f"cannot write {path} ({reason}): free some space and run the command again") from error


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """Yields where to write a file or a folder that appears at the end; raises Failure if the disk refuses it.

    Replaces a folder of that name, which a process that broke off before its next file has left.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    with writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield unfinished
            if path.is_dir():
                shutil.rmtree(path)
            unfinished.replace(path)
        except OSError:
            if unfinished.is_file():
                # It occupies the space that is missing.
                unfinished.unlink()
            raise


def write(path: Path, content: str) -> None:
    with complete(path) as unfinished:
        unfinished.write_text(content + "\n", "utf-8")


def write_json(path: Path, content: Any) -> None:
    write(path, json.dumps(content, indent=2, ensure_ascii=False))


class RoundFolder:
    """The folder of one round."""

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.folder = folder / f"round-{number:04d}"
        # The round's data, its training, and the trained model's answers.
        self.data = self.folder / "data"
        self.training = self.folder / "training"
        self.adapter = self.training / "adapter"
        self.written = self.folder / "written"

    def read(self, name: str, kind: type[Content]) -> Content | None:
        """Returns None if the round has not written this yet."""
        found = read(self.folder / f"{name}.json")
        return TypeAdapter(kind).validate_python(found) if found else None

    def write(self, name: str, content: Any) -> None:
        write_json(self.folder / f"{name}.json", asdict(content))


class RoundsFolder(Generic[Outcome]):
    """The folder of a workflow; each finished round has an outcome."""

    def __init__(self, folder: Path, workflow: Workflow, outcome: type[Outcome], *, first: int) -> None:
        self.folder = folder
        self._workflow = workflow
        self._outcome = outcome
        self._first = first

    def opened(self, identity: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Raises Failure if the folder belongs to another workflow or is in use."""
        return lock_folder(self.folder, self._workflow, identity)

    def round(self, number: int) -> RoundFolder:
        return RoundFolder(self.folder, number)

    def done(self) -> list[Outcome]:
        found: list[Outcome] = []
        while outcome := self.round(len(found) + self._first).read(OUTCOME, self._outcome):
            found.append(outcome)
        return found

    def write_table(self, head: Sequence[str], rows: Iterable[Sequence[str]], *after: str) -> None:
        write(self.folder / TABLE, "\n".join(["# Rounds", "", table(head, rows), *after]))


def _check(folder: Path, workflow: Workflow, identity: Mapping[str, Any]) -> None:
    path = folder / workflow.file
    recorded = read(path)
    if not recorded:
        write_json(path, identity)
        return
    for name, value in identity.items():
        if recorded.get(name) != value:
            raise Failure(
                f"{folder} holds another {workflow.name} ({_difference(name, recorded.get(name), value)}): choose "
                f"another {workflow.option}, or remove it"
            )


def _difference(name: str, recorded: Any, wanted: Any) -> str:
    """Describes a difference; of settings, the first field that differs."""
    if not (isinstance(recorded, dict) and isinstance(wanted, dict)):
        return f"{name}: {recorded}, not {wanted}"
    field = next(field for field in wanted if recorded.get(field) != wanted[field])
    return f"{field}: {recorded.get(field)}, not {wanted[field]}"
