"""The folder of one training: its identity, one process at a time, and never a finished one for another."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from soliloquy.runtime.weights import base_digest, digest_of, named_base
from training.settings import CannotTrain, Diverged, TrainingSettings
from training.source import digest_of as data_digest

REPORT = "report.json"
_IDENTITY = "run.json"
_FAILURE = "failure.json"
_NEEDED = ("config.json", "tokenizer.json")
ADAPTER_WEIGHTS = "adapter_model.safetensors"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What is trained on what, and where it is kept."""

    settings: TrainingSettings
    base: Path
    # A dataset's folder or URL.
    data: str
    folder: Path
    # An adapter to go on from.
    adapter: Path | None = None


class TrainingFolder:
    def __init__(self, job: Job) -> None:
        self._job = job
        self.path = job.folder

    @property
    def prepared(self) -> Path:
        return self.path / "prepared"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @contextmanager
    def opened(self) -> Iterator[Mapping[str, Any]]:
        """Hands out the identity; raises CannotTrain where the folder is another's, finished, or in use."""
        identity = self._identity()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CannotTrain(f"{self.path} cannot be written ({error.strerror}): choose another --out") from error
        try:
            self._take(lock)
            self._check(identity)
            self.failure_file.unlink(missing_ok=True)
            yield identity
        finally:
            os.close(lock)

    @property
    def failure_file(self) -> Path:
        return self.path / _FAILURE

    def note_failure(self, failure: CannotTrain) -> None:
        """For who started the workers: what they say themselves is lost among the others'."""
        self.write(_FAILURE, {"failure": str(failure), "diverged": isinstance(failure, Diverged)})

    def failure(self) -> CannotTrain | None:
        try:
            noted = json.loads(self.failure_file.read_bytes())
        except FileNotFoundError:
            return None
        return (Diverged if noted["diverged"] else CannotTrain)(noted["failure"])

    def report(self) -> dict[str, Any]:
        """Of a finished training; empty before."""
        try:
            return dict(json.loads((self.path / REPORT).read_bytes()))
        except FileNotFoundError:
            return {}

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        unfinished = self.path / f".{name}.unfinished"
        unfinished.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
        unfinished.replace(self.path / name)

    def _take(self, lock: int) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotTrain(f"another process trains in {self.path}: wait for it, or choose another --name") from None

    def _check(self, identity: Mapping[str, Any]) -> None:
        if self.report():
            raise CannotTrain(f"{self.path} holds a finished training: choose another --name, or remove it")
        try:
            kept = json.loads((self.path / _IDENTITY).read_bytes())
        except FileNotFoundError:
            self.write(_IDENTITY, identity)
            return
        except ValueError as error:
            raise CannotTrain(f"{self.path / _IDENTITY} is not readable ({error}): remove {self.path}") from error
        if differing := [name for name, value in identity.items() if kept.get(name) != value]:
            what = _difference(kept, identity, differing[0])
            raise CannotTrain(f"{self.path} holds another training ({what}): choose another --name, or remove it")

    def _identity(self) -> dict[str, Any]:
        job = self._job
        missing = [name for name in _NEEDED if not (job.base / name).is_file()]
        missing += [] if any(job.base.glob("*.safetensors")) else ["*.safetensors"]
        if missing:
            raise CannotTrain(f"{job.base} is no model: it lacks {', '.join(missing)}; name the folder of one")
        base = base_digest(job.base)
        return {
            "settings": job.settings.model_dump(mode="json"),
            "base": base,
            "data": data_digest(job.data),
            "adapter": self._adapter(base),
            "soliloquy": version("soliloquy"),
        }

    def _adapter(self, base: str) -> str:
        """The digest of the adapter to go on from; empty where there is none."""
        adapter = self._job.adapter
        if adapter is None:
            return ""
        if self._job.settings.tune == "full":
            raise CannotTrain(f"tune: full has no adapter to go on from: leave out {adapter}")
        if not (adapter / ADAPTER_WEIGHTS).is_file():
            raise CannotTrain(f"{adapter} is no adapter: it lacks {ADAPTER_WEIGHTS}; name the folder of one")
        if (named := named_base(adapter)) not in ("", base):
            raise CannotTrain(
                f"the adapter in {adapter} was trained on the base {named[:12]}, and {self._job.base} is {base[:12]}: "
                "name that base, or an adapter of this one"
            )
        return digest_of([adapter / ADAPTER_WEIGHTS])


def _difference(kept: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> str:
    if name != "settings" or not isinstance(kept.get(name), dict):
        return f"{name}: {kept.get(name)}, not {wanted[name]}"
    before, after = kept[name], wanted[name]
    field = next(field for field in after if before.get(field) != after[field])
    return f"{field}: {before.get(field)}, not {after[field]}"
