"""Replicas that share counters: a killed one loses no count, and its gauges end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from soliloquy_services.model import shared_metrics
from soliloquy_services.model.shared_metrics import (
    VARIABLE,
    metrics_registry,
    replica_environment,
    shared_metrics_folder,
)

# It has an adapter and two requests, one of which it has begun to answer, and says so.
REPLICA = """
import sys
from types import SimpleNamespace
from soliloquy_services.model.engines.metrics import EngineMetrics
metrics = EngineMetrics(SimpleNamespace(name="tiny"))
metrics.open()
metrics.adapters(1)
with metrics.request("algebra") as answered, metrics.request(""):
    answered.prompt(10)
    answered.generated(3)
    print("counted", flush=True)
    sys.stdin.read()
"""


@contextmanager
def replica(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Runs a replica, and kills it at the end."""
    command = [sys.executable, "-c", REPLICA]
    with subprocess.Popen(
        command, env={**os.environ, VARIABLE: str(folder)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "counted\n"
        try:
            yield process
        finally:
            process.kill()


def shown(*loaded: str) -> dict[str, float]:
    lines = generate_latest(metrics_registry(lambda: loaded)).decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_what_replicas_count_is_told_together_and_outlasts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = 'soliloquy_model_prompt_tokens_total{adapter="algebra",engine="tiny"}'
    running, adapters = 'soliloquy_model_running{engine="tiny"}', 'soliloquy_model_adapters{engine="tiny"}'
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with replica(tmp_path) as first, replica(tmp_path):
        both = shown("algebra")
        assert (both[tokens], both[running], both[adapters]) == (20, 2, 1)
        assert both['soliloquy_model_waiting{engine="tiny"}'] == 2
        assert tokens not in shown()
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        left = shown("algebra")
        assert (left[tokens], left[running], left[adapters]) == (20, 1, 1)


def test_a_process_that_counts_alone_shows_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert "python_info" in generate_latest(metrics_registry(list)).decode()


def test_a_service_leaves_no_file_behind() -> None:
    with shared_metrics_folder():
        assert replica_environment()["runtime_env"]["env_vars"] == {VARIABLE: str(shared_metrics.folder())}
        (shared_metrics.folder() / "counter_1.db").touch()
    assert not shared_metrics.folder().exists()
    assert replica_environment() == {}
