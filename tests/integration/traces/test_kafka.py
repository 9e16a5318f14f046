"""Traces of conversations over a real Kafka, with every service in its own process."""

import asyncio
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from soliloquy.client import Dataset
from soliloquy.runs.assignment import SERVICES
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from tests.e2e.runs import kill, worker_named
from tests.kafka.commands import running
from tests.traces.collector import Collector, Span, collecting
from tests.traces.trees import gaps, orphans, root, trace_of
from tests.waiting import until

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]

END_SECONDS = 150.0
LAST = "curriculum conversation.collected"
# Spans of the calls that handlers make.
ASKED = {"model planner", "model student", "model tutor", "model codegen", "model composer", "sandbox job"}


KILLED = {"tutor", "composer"}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


async def test_a_conversation_is_followed_through_every_service_and_past_a_kill(
    kafka: str, tmp_path: Path, collector: Collector
) -> None:
    settings = KafkaSettings(bootstrap=kafka, prefix=f"test-{uuid.uuid4().hex[:8]}.")
    await apply(settings, replication=1)
    options = ("--data", tmp_path / "data", "--sandboxes", "1", "--latency", "20ms", "--traces", collector.url)
    async with running("up", *options, kafka=settings) as supervisor:
        await supervisor.says(f"up: {len(SERVICES)} services ready")

        found = await grown(tmp_path / "first", 2, settings, collector)
        # Each process exports once a second.
        await until(lambda: all(_is_whole(collector.traces[trace]) for trace in found), END_SECONDS)
        for trace in found:
            assert root(collector.traces[trace]).name == "curriculum problem.submitted"
        spans = [span for trace in found for span in collector.traces[trace]]
        assert {span.service for span in spans} == set(SERVICES)
        assert {span.name for span in spans if "messaging.message.id" not in span.attributes} == ASKED

        growing = asyncio.create_task(grown(tmp_path / "second", 16, settings, collector))
        known = set(collector.traces)
        await until(lambda: any(span.service == "composer" for span in others(collector, known)), END_SECONDS)
        killed_at = time.time()
        for name in KILLED:
            kill(worker_named(supervisor.process.pid, f"{name}-0"))
        found = await growing
        # Spans that a killed process had not sent are missing above the calls it made.
        await until(
            lambda: {span.service for trace in found for span in orphans(collector.traces[trace])} <= KILLED,
            END_SECONDS,
        )
        for trace in found:
            assert root(collector.traces[trace]).name == "curriculum problem.submitted"
        later = {span.service for span in others(collector, known) if span.began > killed_at}
        assert later >= KILLED


async def grown(out: Path, conversations: int, kafka: KafkaSettings, collector: Collector) -> list[str]:
    """Returns the traces of all conversations of a run once they are complete."""
    # Few at a time, so that a run lasts longer than its first spans take to arrive.
    wanted = ("--problems", "physics", "--conversations", str(conversations), "--in-flight", "2")
    options = ("--seed", str(conversations), "--enrich", "--quiet", "--out", out)
    async with running("generate", *wanted, *options, kafka=kafka) as generate:
        assert await generate.ended() == (0, [])
    dataset = Dataset(out)
    ids = [one.id for rejected in (False, True) for one in dataset.conversations(rejected=rejected)]
    traces = {trace_of(one) for one in ids}
    await until(lambda: traces <= {span.trace for span in collector.spans if span.name == LAST}, END_SECONDS)
    for conversation in ids:
        found = [span for span in collector.spans if span.attributes.get("gen_ai.conversation.id") == conversation]
        assert {span.trace for span in found} == {trace_of(conversation)}
    return sorted(traces)


def _is_whole(trace: list[Span]) -> bool:
    return not orphans(trace) and not gaps(trace)


def others(collector: Collector, known: set[str]) -> list[Span]:
    return [span for span in collector.spans if span.trace not in known and not span.links]
