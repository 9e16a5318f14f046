"""The services of a run on Kafka, all in one process."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from soliloquy.runs.assignment import LOOP, Assignment
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy_services.collector.settings import LiveSettings
from soliloquy_services.executor.policy import SandboxSettings


@contextmanager
def serving(
    kafka: KafkaSettings, data: Path, *, classifiers: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    asyncio.run(apply(kafka, replication=1))
    assignment = Assignment(
        services=("curriculum", *LOOP, "collector"),
        transport=kafka,
        model=ModelSettings(problems=["arithmetic", "physics"]),
        datasets=LiveSettings(data=data),
        classifiers=classifiers,
        sandbox=SandboxSettings(sandboxes=1),
    )
    command = [sys.executable, "-m", "soliloquy.runs.worker", "all"]
    told = {**os.environ, **(environment or {})}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=told) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(assignment.to_json() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            process.kill()
