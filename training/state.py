"""The state of a workflow that runs in rounds: atomically written files in a folder that one process locks."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.dataset.lock import Locked, write_lock
from soliloquy.dataset.storage import Storage
from training.settings import CannotTrain


@dataclass(frozen=True, kw_only=True, slots=True)
class Workflow:
    """The kind of workflow, such as "retraining", and the option that names its folder."""

    name: str
    option: str


@contextmanager
def lock_folder(folder: Path, workflow: Workflow, identity: Mapping[str, Any]) -> Iterator[None]:
    """Locks the folder; raises CannotTrain if it belongs to another workflow or is in use."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with write_lock(Storage(folder), folder):
            _check(folder, workflow, identity)
            yield
    except Locked as error:
        raise CannotTrain(f"{error}: wait for it, or choose another {workflow.option}") from error


def read(path: Path) -> dict[str, Any]:
    """Returns an empty dict if the file does not exist."""
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CannotTrain(f"{path} is unreadable ({error}): remove {path.parent}") from error


def write(path: Path, content: str) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(content + "\n", "utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise CannotTrain(
            f"cannot write {path} ({error.strerror}): free some space and run the command again"
        ) from error


def _check(folder: Path, workflow: Workflow, identity: Mapping[str, Any]) -> None:
    path = folder / f"{workflow.name}.json"
    recorded = read(path)
    if not recorded:
        write(path, json.dumps(identity, indent=2))
        return
    for name, value in identity.items():
        if recorded.get(name) != value:
            raise CannotTrain(
                f"{folder} holds another {workflow.name} ({name}: {recorded.get(name)}, not {value}): choose another "
                f"{workflow.option}"
            )
