"""Hostile events on both transports: each is handled, given up or refused, and the services serve on."""

import asyncio
import json
import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from soliloquy.cli.tables import table
from soliloquy.client import Dataset
from soliloquy.runs.supervision import LOG
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation
from tests.attack.records import KINDS, hostile_events
from tests.chaos.kafka.installation import Installation, free_ports, until
from tests.chaos.kafka.run import Run
from tests.e2e.runs import SOLILOQUY, dataset, grown
from tests.kafka import processes

# On each transport.
EVENTS = int(os.environ.get("ATTACK_EVENTS", "25000"))
SEED = 17
AT_ONCE = 250
CONVERSATIONS = 6
OTHERS = ("mathdial", "mathwell", "scaffold")
# Without one event less than before. How long all take depends on what else the machine does.
MOST_SECONDS_STILL = 300.0


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs without an attack, the first of them of the recipe that is used by default."""
    folder = tmp_path_factory.mktemp("reference")
    grown(folder / "soliloquy", conversations=CONVERSATIONS)
    for recipe in OTHERS:
        grown(folder / recipe, conversations=CONVERSATIONS, recipe=recipe, problems="arithmetic")
    return [folder / recipe for recipe in ("soliloquy", *OTHERS)]


@pytest.mark.timeout(3_600)
def test_no_event_stops_the_services_of_a_machine(references: list[Path], tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    with _up(tmp_path / "data", log):
        path = tmp_path / "data" / LOG
        until(path.exists, "up has no log", 120)
        asyncio.run(_attack(EmbeddedTransport(path), references, "embedded"))
    # The gateway reads everything at its start.
    with _up(tmp_path / "data", log) as gateway:
        until(lambda: _answers(gateway), "the gateway does not answer after the attack", 120)
        runs = _runs(gateway)
        for run in runs:
            _ask(gateway, f"runs/{run}/conversations")
    assert any(run.startswith("hostile-run-") for run in runs)
    assert not _restarts(log.read_text("utf-8"))


@pytest.mark.timeout(3_600)
def test_no_event_stops_the_services_of_a_cluster(kafka: str, references: list[Path], tmp_path: Path) -> None:
    with Installation(tmp_path, kafka) as installation:
        asyncio.run(_attack(KafkaTransport(installation.settings), references, "kafka"))
        with Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=4) as run:
            run.finish()
        assert dataset(run.out) == dataset(references[0])
        assert not _restarts(installation.said)


@contextmanager
def _up(data: Path, log: Path) -> Iterator[str]:
    """Yields the gateway's address."""
    console = f"127.0.0.1:{free_ports(2).start}"
    process = processes.start([SOLILOQUY, "up", "--data", str(data), "--sandboxes", "1", "--console", console], log)
    try:
        yield console
        assert process.poll() is None, log.read_text("utf-8")[-1_000:]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _restarts(said: str) -> list[str]:
    """Returns what ended services, except that a busy machine's broker was slow."""
    return [line for line in said.splitlines() if "restarting" in line and "does not answer in time" not in line]


def _ask(gateway: str, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{gateway}/v1/{path}", timeout=60) as answer:
        return dict(json.load(answer))


def _answers(gateway: str) -> bool:
    try:
        return bool(_ask(gateway, "runs"))
    except OSError:
        return False


def _runs(gateway: str) -> list[str]:
    found, token = list[str](), ""
    while True:
        page = _ask(gateway, f"runs?page_size=20{token}")
        found += [run["id"] for run in page["runs"]]
        if not page.get("next_page_token"):
            return found
        token = f"&page_token={page['next_page_token']}"


async def _attack(opening: Any, references: list[Path], name: str) -> None:
    conversations: list[Conversation] = [found for reference in references for found in Dataset(reference)]
    sent: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    began = time.monotonic()
    async with opening as transport:
        events = [*hostile_events(conversations, EVENTS, SEED)]
        for start in range(0, len(events), AT_ONCE):
            for hostile in events[start : start + AT_ONCE]:
                sent[hostile.kind] += 1
            await _publish(transport, events[start : start + AT_ONCE], refused)
        published = time.monotonic()
        left = await _quiet(transport)
        letters = await transport.dead_letters()
    rows = table(f"{name}: events", "sent", "refused")
    for kind in KINDS:
        rows.add_row(kind, f"{sent[kind]:,}", f"{refused[kind]:,}")
    rows.add_row("all", f"{sent.total():,}", f"{refused.total():,}")
    Console().print(rows)
    print(
        f"sent in {published - began:.0f} s, handled {time.monotonic() - published:.0f} s later: "
        f"{sum(letters.values()):,} dead letters, {left} unfinished, load {os.getloadavg()[0]:.1f}"
    )
    assert not left
    assert EVENTS // 10 < sum(letters.values()) <= EVENTS - refused.total()


async def _publish(transport: Transport, batch: Any, refused: Counter[str]) -> None:
    """Publishes as many as possible: a batch is published as a whole or not at all."""
    try:
        await transport.publish([hostile.event for hostile in batch])
    except Exception:
        if len(batch) == 1:
            refused[batch[0].kind] += 1
            return
        for part in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            await _publish(transport, part, refused)


async def _quiet(transport: Transport) -> int:
    """Waits until no group has an unfinished event, or their number stands still; returns how many are left."""
    fewest, sank = 2**63, time.monotonic()
    while fewest and time.monotonic() < sank + MOST_SECONDS_STILL:
        await asyncio.sleep(1)
        left = sum(backlog.events for backlog in await transport.backlog())
        if left < fewest:
            fewest, sank = left, time.monotonic()
    return fewest
