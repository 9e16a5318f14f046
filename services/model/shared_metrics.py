"""What all replicas of a service have counted, whichever of them is asked: they count in files that they share.

A replica that was killed, or replaced, has counted for good; only what it held at the moment ends with it.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

# By which prometheus_client knows, when it is imported, that it is to count in files.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def folder() -> Path:
    """Of the service that this process runs."""
    return Path(tempfile.gettempdir()) / f"soliloquy-model-{os.getpid()}"


@contextmanager
def shared_metrics_folder() -> Iterator[None]:
    shutil.rmtree(folder(), ignore_errors=True)
    folder().mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(folder(), ignore_errors=True)


def replica_environment() -> dict[str, Any]:
    """By which Ray tells replicas of this process' service; nothing where another serves them, perhaps elsewhere."""
    return {"runtime_env": {"env_vars": {VARIABLE: str(folder())}}} if folder().exists() else {}


def metrics_registry(loaded: Callable[[], Collection[str]]) -> CollectorRegistry:
    """What a replica shows: the counts of all of them where they count together, of the adapters that are loaded."""
    shared = os.environ.get(VARIABLE)
    if shared is None:
        return REGISTRY
    # Of an adapter that is unloaded, the files keep the counts, and it is not shown.
    warnings.filterwarnings("ignore", message="Removal of labels")
    of_all = CollectorRegistry()
    of_all.register(_SharedCollector(Path(shared), loaded))
    return of_all


class _SharedCollector(Collector):
    def __init__(self, shared: Path, loaded: Callable[[], Collection[str]]) -> None:
        self._shared = shared
        self._loaded = loaded
        self._files = MultiProcessCollector(None, str(shared))

    def collect(self) -> Iterator[Metric]:
        for file in self._shared.glob("gauge_live*.db"):
            pid = int(file.stem.rpartition("_")[2])
            if not Path(f"/proc/{pid}").exists():
                with suppress(FileNotFoundError):
                    mark_process_dead(pid, str(self._shared))
        shown = {"", *self._loaded()}
        for metric in self._files.collect():
            metric.samples = [sample for sample in metric.samples if sample.labels.get("adapter", "") in shown]
            if metric.samples:
                yield metric
