"""A run of everything under the eyes of a Prometheus: conversations that are rejected, programs that fail, dead
letters, a model that throttles, and a collector of traces that is away."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from soliloquy.cli.observe import prometheus
from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from tests.chaos.kafka.installation import Installation, free_ports
from tests.e2e.runs import SOLILOQUY
from tests.kafka import processes
from tests.observability.asking import Asked

SCRAPED_SECONDS = 60.0
_MODELS = """
[endpoints.hosted]
engine = "openai"
base_url = "http://{address}/v1"
model = "scripted"
prompt_price = 0.5
completion_price = 1.5
"""
_TROUBLES = ("--noise", "harsh", "--fault=throttled=0.05", "--fault=failed=0.02", "--retry-after", "0")
# Some of the conversations are rejected, in some turns are taken back, and a program fails.
_SEED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    prometheus: Asked
    # Ports of the services' metrics, lowest first.
    addresses: list[str]
    began: float


@contextmanager
def watched(folder: Path, bootstrap: str, *, conversations: int, steps: int, latency: str = "0ms") -> Iterator[Watched]:
    """Yields once all of it is scraped, while conversations run and a training makes steps."""
    hosted, beside, own = (f"127.0.0.1:{port}" for port in free_ports(3))
    models = folder / "models.toml"
    models.write_text(_MODELS.format(address=hosted), "utf-8")
    with ExitStack() as opened:
        others = opened.enter_context(_others())
        answers = ["-m", "benchmarks.endpoint", "--http", hosted, "--latency", latency, *_TROUBLES]
        others.append(processes.start([sys.executable, *answers], folder / "fake.log"))
        aside = ["-m", "tests.integration.observability.beside", str(folder), beside, str(steps)]
        others.append(processes.start([sys.executable, *aside], folder / "beside.log"))
        # Nothing receives the traces.
        options = ["--model-settings", str(models), "--traces", "http://127.0.0.1:1"]
        opened.enter_context(mock.patch.dict(os.environ, {"SOLILOQUY_TRACE_SHARE": "0.1"}))
        installation = opened.enter_context(Installation(folder, bootstrap, *options))
        asyncio.run(_poison(installation.settings))
        run = [SOLILOQUY, "generate", "--problems", "physics", "--seed", str(_SEED), "--in-flight", "16", "--quiet"]
        run += ["--conversations", str(conversations), "--out", str(folder / "grown"), "--model-settings", str(models)]
        run += ["--kafka", bootstrap, "--kafka-prefix", installation.settings.prefix]
        others.append(processes.start(run, folder / "generate.log"))
        targets = installation.addresses | {beside: "beside"}
        began = time.time()
        watcher = Asked(opened.enter_context(prometheus(targets, int(own.rpartition(":")[2]), interval="2s")).address)
        watcher.wait_for({"all is scraped": f"sum(up) == {len(targets)}"}, SCRAPED_SECONDS)
        yield Watched(prometheus=watcher, addresses=list(installation.addresses), began=began)
        # Ends the run while its services still hear of the cancellation.
        processes.end(others, seconds=20)


@contextmanager
def _others() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    try:
        yield started
    finally:
        processes.end(started, seconds=20)


async def _poison(kafka: KafkaSettings) -> None:
    """Publishes foreign bytes on a topic that is handled and on one that is only followed."""
    poison = [
        Event(id=f"poison on {topic}", topic=topic, key="poison", payload=b"\xff", source="test", time=time.time())
        for topic in ("student.replied", "run.cancelled")
    ]
    async with open_transport(kafka) as transport:
        await transport.publish(poison)
