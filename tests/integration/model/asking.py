"""`soliloquy model serve` with the small model, and requests for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import family, stats
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling
from tests.chaos.kafka.installation import free_ports

_SHORT = Sampling(temperature=0.0, top_p=1.0, max_tokens=4)


@contextmanager
def served(
    base: Path, *, replicas: int, traces: str = "", engine: str = "transformers", environment: Mapping[str, str] = {}
) -> Iterator[tuple[int, int]]:
    """Yields its gRPC and HTTP ports; exports traces if a collector is named."""
    port, http = free_ports(2)
    command = ["-c", "from soliloquy.cli.main import main; main()", "model", "serve", "--engine", engine]
    command += ["--model", str(base), "--grpc", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http}"]
    process = subprocess.Popen(
        [
            sys.executable,
            *command,
            "--replicas",
            str(replicas),
            "--grace",
            "2s",
            *(["--traces", traces] if traces else []),
        ],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
            **environment,
        },
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving on")
        yield port, http
    finally:
        left = family({process.pid}, stats()) - {process.pid}
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
        for pid in left & set(stats()):
            os.kill(pid, signal.SIGKILL)


def short(adapter: str, number: int = 0, answered: int = 0) -> GenerateRequest:
    return GenerateRequest(
        messages=[Message(role="user", text=f"Why, {number}-{answered}?")], adapter=adapter, sampling=_SHORT
    )
