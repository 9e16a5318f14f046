"""A run of everything under the eyes of a Prometheus: conversations that are rejected, programs that fail, dead
letters, and a model that throttles."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from services.runtime.events import Event
from services.runtime.transports.kafka import KafkaSettings
from services.runtime.transports.kafka.transport import KafkaTransport
from tests.chaos.kafka.installation import Installation, until
from tests.e2e.runs import SOLILOQUY
from tests.integration.model.serving import free_port
from tests.kafka import processes
from tests.prometheus import Prometheus, prometheus

SCRAPED_SECONDS = 60.0
_MODELS = """
[endpoints.hosted]
engine = "openai"
base_url = "http://127.0.0.1:{port}/v1"
prompt_price = 0.5
completion_price = 1.5
"""
_TROUBLES = ("--noise", "real", "--throttled", "0.05", "--failed", "0.02", "--retry-after", "0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    prometheus: Prometheus
    # Of each process of the services, by its name.
    addresses: dict[str, str]
    began: float


@contextmanager
def watched(folder: Path, bootstrap: str, *, conversations: int, latency: str, every: str) -> Iterator[Watched]:
    """From when all of it is scraped, and while so many conversations grow."""
    hosted, beside = free_port(), free_port()
    models = folder / "models.toml"
    models.write_text(_MODELS.format(port=hosted), "utf-8")
    began = time.time()
    answers = [SOLILOQUY, "model", "fake", "--http", f"127.0.0.1:{hosted}", "--latency", latency, *_TROUBLES]
    aside = [sys.executable, "-m", "tests.integration.observability.beside", str(folder), str(beside)]
    others = [processes.start(answers, folder / "fake.log"), processes.start(aside, folder / "beside.log")]
    try:
        with Installation(folder, bootstrap, "--model-settings", str(models)) as installation:
            asyncio.run(_poison(installation.settings))
            run = [SOLILOQUY, "generate", "--problems", "physics", "--quiet", "--model-settings", str(models)]
            run += ["--kafka", bootstrap, "--kafka-prefix", installation.settings.prefix, "--in-flight", "16"]
            whole = ["--conversations", str(conversations), "--out", str(folder / "grown")]
            # Nothing is solved in two turns.
            cut = ["--conversations", "2", "--out", str(folder / "cut"), "--max-turns", "2", "--max-attempts", "2"]
            others += [processes.start([*run, *own], folder / "generate.log") for own in (whole, cut)]
            addresses = installation.addresses
            targets = {"soliloquy": [*addresses.values(), f"127.0.0.1:{beside}"]}
            with prometheus(folder, targets, every=every) as watcher:
                until(lambda: set(watcher.targets().values()) == {"up"}, "not all is scraped", SCRAPED_SECONDS)
                yield Watched(prometheus=watcher, addresses=addresses, began=began)
                # Cancelled, they tell the services so.
                processes.end(others, seconds=20)
    finally:
        processes.end(others, seconds=20)


async def _poison(kafka: KafkaSettings) -> None:
    """Bytes that are no message of ours, on a topic whose events are handled and on one that is only followed."""
    poison = [
        Event(id=f"poison on {topic}", topic=topic, key="poison", payload=b"\xff", source="test", time=time.time())
        for topic in ("student.replied", "run.cancelled")
    ]
    async with KafkaTransport(kafka) as transport:
        await transport.publish(poison)
