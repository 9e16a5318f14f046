"""Runs `soliloquy generate` with an observed model, samples its processes, and may kill it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.call_log import CallLog, ObservedCall, environment, read_calls
from benchmarks.run_limit import waiting_times
from benchmarks.usage import Usage
from soliloquy.client import Dataset
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.v1.conversation_pb2 import Conversation

SEED = 7
SAMPLE_SECONDS = 0.25
END_SECONDS = 60.0
_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    conversations: int
    in_flight: int
    # Seconds that an answer takes, each with the share of the calls that take this long.
    latency: Sequence[tuple[float, float]]
    # Worker processes on the embedded log; on Kafka each service is a process.
    workers: int = 1
    noise: str = "none"


class ObservedRun:
    """A run in a folder of its own; on Kafka also with services of its own."""

    def __init__(
        self, folder: Path, request: RunRequest, kafka: KafkaSettings | None, variables: Mapping[str, str] = {}
    ) -> None:
        self.usage = Usage()
        self.started_at = 0.0
        self._folder = folder
        self._request = request
        self._kafka = kafka
        self._calls = folder / "calls"
        self._calls.touch()
        self._observation = CallLog(calls=str(self._calls), latency=request.latency)
        self._observation.to_file(folder / "observation")
        self._environment = os.environ | _environment(kafka) | environment(folder / "observation") | dict(variables)

    def grow(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Returns whether the run came to its end; kills everything at once when `stop` returns true."""
        with self._services() as served, self._started("generate", *self._options()) as generate:
            self.started_at = self.started_at or time.time()
            while generate.poll() is None:
                self.usage.sample([process.pid for process in (*served, generate)])
                if stop():
                    for pid in self.usage.pids:
                        _kill(pid)
                    generate.wait()
                    return False
                time.sleep(SAMPLE_SECONDS)
            if generate.returncode:
                raise Failure(f"soliloquy generate ended with {generate.returncode}: {self._last_words('generate')}")
        return True

    def answered(self) -> int:
        """Counts the calls answered so far."""
        with self._calls.open("rb") as file:
            return sum(1 for _ in file)

    @cached_property
    def calls(self) -> list[ObservedCall]:
        return read_calls(self._calls)

    @cached_property
    def conversations(self) -> list[Conversation]:
        """Returns accepted and rejected conversations."""
        dataset = Dataset(self._dataset)
        return [each for rejected in (False, True) for each in dataset.conversations(rejected=rejected)]

    @property
    def turns(self) -> int:
        return sum(len(each.turns) for each in self.conversations)

    @property
    def began_at(self) -> float:
        """Returns when the first call was made."""
        return min(call.answered_at - call.seconds for call in self.calls)

    @property
    def ended_at(self) -> float:
        """Returns when the dataset was complete."""
        return (self._dataset / MANIFEST).stat().st_mtime

    def waiting_times(self) -> list[float]:
        return waiting_times(self.conversations, self._observation)

    @property
    def _dataset(self) -> Path:
        return self._folder / "dataset"

    def _options(self) -> list[str]:
        options: dict[str, Any] = {
            "problems": "physics",
            "conversations": self._request.conversations,
            "in-flight": self._request.in_flight,
            "seed": SEED,
            "noise": self._request.noise,
            "out": self._dataset,
        }
        if self._kafka is None:
            options["workers"] = self._request.workers
        return ["--quiet", *chain.from_iterable((f"--{name}", str(value)) for name, value in options.items())]

    @contextmanager
    def _services(self) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Starts every service on Kafka; on the embedded log the run starts them itself."""
        if self._kafka is None:
            yield []
            return
        with self._started("up", "--data", str(self._folder / "data")) as up:
            while b"services ready" not in self._log("up").read_bytes():
                if up.poll() is not None:
                    raise Failure(f"soliloquy up ended with {up.returncode}: {self._last_words('up')}")
                time.sleep(SAMPLE_SECONDS)
            yield [up]

    @contextmanager
    def _started(self, command: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        with self._log(command).open("wb") as log:
            process = subprocess.Popen([*_SOLILOQUY, command, *options], env=self._environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _log(self, command: str) -> Path:
        return self._folder / f"{command}.log"

    def _last_words(self, command: str) -> str:
        return self._log(command).read_text("utf-8", "replace").strip().rpartition("\n")[2]


def _environment(kafka: KafkaSettings | None) -> dict[str, str]:
    """Returns the variables that point a command at this Kafka."""
    if kafka is None:
        return {}
    variables = {f"SOLILOQUY_KAFKA_{name.upper()}": str(value) for name, value in asdict(kafka).items() if value}
    return {"SOLILOQUY_KAFKA": variables.pop("SOLILOQUY_KAFKA_BOOTSTRAP"), **variables}


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
