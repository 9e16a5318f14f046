"""Metrics of all replicas of a service, whichever of them is scraped: replicas count in shared files.

The counts of a replica that was killed or replaced remain; only its gauges end with it.
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

# Tells prometheus_client, at import, to count in files.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def folder() -> Path:
    """Returns the metrics folder of the service that this process runs."""
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
    """Returns Ray options that point replicas to the shared folder; empty if this process runs no service."""
    return {"runtime_env": {"env_vars": {VARIABLE: str(folder())}}} if folder().exists() else {}


def metrics_registry(loaded: Callable[[], Collection[str]]) -> CollectorRegistry:
    """Returns what a replica exposes: the counts of all replicas if they share files, without unloaded adapters."""
    shared = os.environ.get(VARIABLE)
    if shared is None:
        return REGISTRY
    # Labels cannot be removed from shared files; the collector hides those of unloaded adapters instead.
    warnings.filterwarnings("ignore", message="Removal of labels")
    registry = CollectorRegistry()
    registry.register(_SharedCollector(Path(shared), loaded))
    return registry


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
