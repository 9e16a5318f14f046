"""Runs one service as a process that a test may kill."""

import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from soliloquy.runtime.transports.kafka import KafkaSettings
from tests.chaos.kafka.installation import until
from tests.e2e.runs import SOLILOQUY
from tests.kafka import processes

READY_SECONDS = 120.0


def reach(kafka: KafkaSettings) -> list[str]:
    """Returns the options with which every command uses it."""
    return ["--kafka", kafka.bootstrap, "--kafka-prefix", kafka.prefix]


@contextmanager
def serving(name: str, kafka: KafkaSettings, address: str, log: Path, options: Sequence[str] = ()) -> Iterator[int]:
    """Yields the process id once it is ready; kills it in the end."""
    process = processes.start([SOLILOQUY, "service", name, "--http", address, *options, *reach(kafka)], log)
    try:
        until(lambda: answer(address, "/readyz")[0] == 200, f"{name} is not ready", READY_SECONDS)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def answer(address: str, path: str) -> tuple[int, str]:
    """Returns the HTTP status; 0 if nothing answers."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=5) as answered:
            return answered.status, answered.read().decode()
    except OSError:
        return 0, ""
