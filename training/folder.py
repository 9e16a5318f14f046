"""The folder of one training: it belongs to one job, is locked by one process, and is never reused once finished."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.runtime.distribution import installed_version
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import ADAPTER_WEIGHTS, base_digest, digest_of, flaw_of_base, lora_ranks, named_base
from soliloquy_training import state
from soliloquy_training.methods import preferences
from soliloquy_training.settings import Diverged, TrainingSettings
from soliloquy_training.source import digest_of as data_digest

REPORT = "report.json"
# The output of a training's workers, or how they failed.
WORKERS_LOG = "workers.log"
_WORKFLOW = state.Workflow(name="training", file="run.json", option="--name")


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Names what to train, on which data, and in which folder."""

    settings: TrainingSettings
    base: Path
    # A dataset's folder or URL; empty for "grpo", whose settings name the problems.
    data: str
    folder: Path
    # An adapter to continue from.
    adapter: Path | None = None


class TrainingFolder:
    def __init__(self, job: Job) -> None:
        self._job = job
        self.path = job.folder
        self.prepared = self.path / "prepared"
        self.checkpoints = self.path / "checkpoints"
        self.metrics = self.path / "metrics.jsonl"
        self.failure_file = self.path / "failure.json"

    @contextmanager
    def opened(self) -> Iterator[Mapping[str, Any]]:
        """Locks the folder and yields its identity; raises Failure if it is another job's, finished or in use."""
        identity = self._identity()
        with state.lock_folder(self.path, _WORKFLOW, identity):
            if self.report():
                raise Failure(f"{self.path} holds a finished training: choose another --name, or remove it")
            self.failure_file.unlink(missing_ok=True)
            yield identity

    def note_failure(self, failure: Failure) -> None:
        """Leaves the failure for the process that started the workers, whose own output is mixed up."""
        noted = {"failure": str(failure), "diverged": isinstance(failure, Diverged)}
        state.write_json(self.failure_file, noted)

    def failure(self) -> Failure | None:
        noted = state.read(self.failure_file)
        return (Diverged if noted["diverged"] else Failure)(noted["failure"]) if noted else None

    def report(self) -> dict[str, Any]:
        """Returns the report of a finished training; empty before."""
        return state.read(self.path / REPORT)

    def _identity(self) -> dict[str, Any]:
        job = self._job
        if flaw := flaw_of_base(job.base):
            raise Failure(f"{job.base} is not a model: {flaw}")
        base = base_digest(job.base)
        return {
            "settings": job.settings.model_dump(mode="json"),
            "base": base,
            "data": self._data(),
            "adapter": self._adapter(base),
            "soliloquy": installed_version(),
        }

    def _data(self) -> str:
        job = self._job
        if job.settings.method == "sft":
            return data_digest(job.data)
        if job.settings.method == "grpo":
            # It loads the services.
            from soliloquy_training.methods import rollouts

            return rollouts.digest_of(job.settings)
        return preferences.digest_of(job.data)

    def _adapter(self, base: str) -> str:
        """Returns the digest of the adapter to continue from; empty if there is none."""
        adapter = self._job.adapter
        if adapter is None:
            return ""
        if self._job.settings.tune == "full":
            raise Failure(f"tune: full cannot continue from an adapter: leave out {adapter}")
        if not (adapter / ADAPTER_WEIGHTS).is_file():
            raise Failure(f"{adapter} is not an adapter: missing {ADAPTER_WEIGHTS}")
        try:
            lora_ranks(adapter)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise Failure(f"{adapter} is not an adapter: {error}") from error
        if (named := named_base(adapter)) not in ("", base):
            raise Failure(
                f"the adapter in {adapter} was trained on the base {named[:12]}, but {self._job.base} is {base[:12]}: "
                "use that base, or an adapter of this one"
            )
        return digest_of([adapter / ADAPTER_WEIGHTS])
