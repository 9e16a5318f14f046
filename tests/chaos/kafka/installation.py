"""Runs an installation on a Kafka: its own topics, and `soliloquy up` with processes that a test may harm."""

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from soliloquy.client import Dataset
from soliloquy.runs.assignment import SERVICES
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from tests.e2e.runs import SOLILOQUY, alive, kill, worker_pids
from tests.kafka import processes

READY_SECONDS = 120.0
END_SECONDS = 60.0
PROBE_SECONDS = 5.0
# Ports below the range of outgoing connections.
_PORTS = range(12000, 19900, 20)


def until(holds: Callable[[], object], what: object, seconds: float) -> float:
    """Waits for a condition and returns the seconds that it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, f"{what}: not within {seconds:g} s"
        time.sleep(0.02)
    return time.monotonic() - began


class Installation:
    def __init__(
        self, folder: Path, bootstrap: str, *options: str, replication: int = 1, scales: dict[str, int] | None = None
    ) -> None:
        """Takes the options of `soliloquy up`."""
        self.settings = KafkaSettings(bootstrap=bootstrap, prefix=f"faults-{uuid.uuid4().hex[:8]}.")
        self.data = folder / "data"
        self.posts = [f"{name}-{number}" for name in SERVICES for number in range((scales or {}).get(name, 1))]
        self._log = folder / "up.log"
        self._options = [*options, *(f"--scale={name}={number}" for name, number in (scales or {}).items())]
        self._replication = replication
        self._ports = free_ports(len(self.posts))
        self._up: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        asyncio.run(apply(self.settings, replication=self._replication))
        self.start()
        self.wait_until_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.signal_up(signal.SIGKILL)
        self._process.wait()

    @property
    def reach(self) -> dict[str, str]:
        """Returns the options with which commands use this installation."""
        return {"kafka": self.settings.bootstrap, "kafka_prefix": self.settings.prefix}

    @property
    def addresses(self) -> dict[str, str]:
        """Maps each metrics address to its process's name."""
        return {f"127.0.0.1:{port}": post for port, post in zip(self._ports, self.posts, strict=True)}

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8")

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def start(self, *options: str) -> None:
        """Starts `soliloquy up` without waiting until it serves."""
        reach = ["--kafka", self.settings.bootstrap, "--kafka-prefix", self.settings.prefix]
        own = ["--data", str(self.data), "--http-from", str(self._ports.start), "--sandboxes", "1"]
        command = [SOLILOQUY, "up", *reach, *own, *self._options, *options]
        self._up = processes.start(command, self._log)

    def signal_up(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill_up(self) -> None:
        """Kills the supervisor; its services end on their own."""
        self.signal_up(signal.SIGKILL)
        self._process.wait()

    def stop_up(self) -> int:
        """Sends SIGTERM and returns the exit status."""
        self.signal_up(signal.SIGTERM)
        return self._process.wait(END_SECONDS)

    def pids(self) -> dict[str, int]:
        """Returns the ids of the running processes by name."""
        found = {}
        for pid in worker_pids(self._process.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                name = Path(f"/proc/{pid}/comm").read_text("utf-8").strip()
                found.update({post: pid for post in self.posts if post[:15] == name})
        return {post: pid for post, pid in found.items() if alive(pid)}

    def pid(self, post: str) -> int:
        """Returns the process id as soon as there is a process."""

        def there() -> bool:
            assert self.runs, f"up has ended: {self.said[-1000:]}"
            return post in self.pids()

        until(there, f"{post} has no process", READY_SECONDS)
        return self.pids()[post]

    def kill(self, post: str) -> int:
        """Kills a process and returns its id."""
        pid = self.pid(post)
        kill(pid)
        return pid

    def signal(self, post: str, number: signal.Signals) -> None:
        os.kill(self.pid(post), number)

    def is_ready(self, post: str) -> bool:
        status, _ = self._get(post, "/readyz")
        return status == 200

    def why_not_ready(self, post: str) -> str:
        _, why = self._get(post, "/readyz")
        return why

    def wait_until_ready(self, seconds: float = READY_SECONDS) -> float:
        def serves() -> bool:
            assert self.runs, f"up has ended: {self.said[-1000:]}"
            return all(map(self.is_ready, self.posts))

        return until(serves, f"not all of {', '.join(self.posts)} are ready", seconds)

    def metric(self, post: str, name: str) -> float:
        """Sums a metric over all labels; 0 while the process does not answer."""
        return sum(sample.value for sample in self.samples(post, name))

    def samples(self, post: str, name: str) -> list[Sample]:
        _, text = self._get(post, "/metrics")
        return [
            sample
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name
        ]

    def held(self, post: str) -> int:
        """Returns the number of partitions that a process holds."""
        return len(self.samples(post, "soliloquy_lag_events"))

    def collected(self) -> list[str]:
        """Returns the ids of the conversations in the collector's dataset."""
        datasets = [Dataset(folder) for folder in self.data.iterdir() if folder.is_dir()]
        return [conversation.id for dataset in datasets for conversation in dataset]

    def memory_mib(self) -> dict[str, float]:
        """Returns the resident memory of each process."""
        return {post: _resident_mib(pid) for post, pid in self.pids().items()}

    @property
    def _process(self) -> subprocess.Popen[bytes]:
        assert self._up is not None, "it has not been started"
        return self._up

    def _get(self, post: str, path: str) -> tuple[int, str]:
        address = f"http://127.0.0.1:{self._ports[self.posts.index(post)]}{path}"
        try:
            with urllib.request.urlopen(address, timeout=PROBE_SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""


def _resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def free_ports(count: int) -> range:
    """Finds so many consecutive free ports."""

    def candidates() -> Iterator[range]:
        while True:
            first = random.choice(_PORTS)
            yield range(first, first + count)

    return next(ports for ports in candidates() if all(map(_is_free, ports)))


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
