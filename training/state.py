"""The state of what goes on for rounds, as files that appear whole, in a folder of one undertaking and one process."""

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
    """What a folder is of: "retraining", and the option that names another folder."""

    name: str
    option: str


@contextmanager
def held(folder: Path, undertaking: Workflow, identity: Mapping[str, Any]) -> Iterator[None]:
    """Raises CannotTrain where the folder is another's, or in use."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with write_lock(Storage(folder), folder):
            _check(folder, undertaking, identity)
            yield
    except Locked as error:
        raise CannotTrain(f"{error}: wait for it, or choose another {undertaking.option}") from error


def read(path: Path) -> dict[str, Any]:
    """Nothing where it is not there."""
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CannotTrain(f"{path} is not readable ({error}): remove {path.parent}") from error


def write(path: Path, content: str) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(content + "\n", "utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise CannotTrain(
            f"{path} cannot be written ({error.strerror}): make room and run the command again"
        ) from error


def _check(folder: Path, undertaking: Workflow, identity: Mapping[str, Any]) -> None:
    path = folder / f"{undertaking.name}.json"
    kept = read(path)
    if not kept:
        write(path, json.dumps(identity, indent=2))
        return
    for name, value in identity.items():
        if kept.get(name) != value:
            raise CannotTrain(
                f"{folder} holds another {undertaking.name} ({name}: {kept.get(name)}, not {value}): choose another "
                f"{undertaking.option}"
            )
