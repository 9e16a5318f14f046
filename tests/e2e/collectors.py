"""A collector on an embedded log, as a process that a test kills at random moments."""

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.runs.assignment import Assignment
from soliloquy.runtime.events import first_event
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.collector.settings import LiveSettings
from tests.integration.transport.support import idle
from tests.unit.collector.collecting import numbered

FINISHED = TOPIC_OF[ConversationFinished].name
# Enough conversations to outlast the collector.
EVENTS_A_KILL = 300
# Seconds after the start: at once, and well into its work.
MOMENTS = (0.0, 0.6)
END_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Harm:
    """Describes the kills that a collector survived, and the contents of its dataset."""

    kills: int
    published: list[str]
    kept: Counter[str]
    findings: list[str]


async def harmed(folder: Path, *, kills: int, seed: int, store: str = "", collectors: int = 1) -> Harm:
    moments, published = random.Random(seed), list[str]()
    log = folder / "log.sqlite"
    often = LiveSettings(data=folder / "data", store=store, shard_seconds=0.2, limits=ShardLimits(rows=40))
    assignment = Assignment(services=["collector"], transport=log, datasets=often)
    for _ in range(kills):
        published += await _publish(log, len(published))
        running = [_started(assignment) for _ in range(collectors)]
        time.sleep(moments.uniform(*MOMENTS))
        for collector in running:
            collector.kill()
            collector.communicate()
    running = [_started(assignment) for _ in range(collectors)]
    await _collected(log)
    for collector in running:
        collector.terminate()
        _, errors = collector.communicate(timeout=END_SECONDS)
        assert collector.returncode == 0, errors
    place = f"{store or folder / 'data'}/{numbered(0).run.id}"
    dataset = Dataset(place)
    return Harm(
        kills=kills,
        published=published,
        kept=Counter(one.id for rejected in (False, True) for one in dataset.conversations(rejected=rejected)),
        findings=[] if store else list(findings(Storage(place))),
    )


def _started(assignment: Assignment) -> subprocess.Popen[bytes]:
    """Once it serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "soliloquy.runs.worker", "collector"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(assignment.to_json() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"ready")
    return process


async def _publish(log: Path, first: int) -> list[str]:
    """More finished conversations, every fourth of them one that was there before."""
    made = [numbered(ordinal) for ordinal in range(first, first + EVENTS_A_KILL)]
    again = made + made[::4]
    async with EmbeddedTransport(log) as transport:
        await transport.publish(
            [
                first_event(ConversationFinished(conversation=conversation), source="test", time=at)
                for at, conversation in enumerate(again)
            ]
        )
    return [conversation.id for conversation in made]


async def _collected(log: Path) -> None:
    deadline = time.monotonic() + END_SECONDS
    async with EmbeddedTransport(log) as transport:
        while not await idle(transport, "collector"):
            assert time.monotonic() < deadline, f"not all is collected within {END_SECONDS} s"
            await asyncio.sleep(0.05)
