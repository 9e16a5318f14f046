"""A trace is one tree per conversation, whatever happens to its events; it is complete or absent."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from prometheus_client.openmetrics.exposition import generate_latest

from soliloquy.runtime import reading
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.retry import Refused
from soliloquy.runtime.traces import spans
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1 import events_pb2
from tests.integration.transport.support import idle
from tests.traces.collector import Collector, collecting
from tests.traces.trees import handlings, root, trace_of
from tests.unit.runtime.traces.growing import conversation_id, grown, reply, services, traced
from tests.waiting import until

HOPS = [
    "curriculum problem.submitted",
    "student conversation.started",
    "tutor student.replied",
    "composer reply.needed",
]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


async def test_a_trace_is_there_as_a_whole_or_not_at_all(tmp_path: Path, collector: Collector) -> None:
    async with traced(tmp_path / "log", collector, services(), share=0.1) as transport:
        await grown(transport, 300)
    assert 10 <= len(collector.traces) <= 60
    assert all([span.name for span in trace] == HOPS for trace in collector.traces.values())


async def test_an_event_that_is_tried_again_and_one_that_is_replayed_stay_in_their_trace(
    tmp_path: Path, collector: Collector
) -> None:
    faults = [ValueError("words of a student"), Refused("words of a student")]

    async def fickle(message: events_pb2.ConversationStarted) -> Outcome:
        if faults:
            raise faults.pop(0)
        return await reply(message)

    async with traced(tmp_path / "log", collector, services(fickle)) as transport:
        await grown(transport, 1)
        await until(lambda: _one_is_dead(transport))
        assert await reading.replay(transport, []) == 1
        await until(lambda: len(handlings(collector.spans)) == 6)
        await until(lambda: idle(transport))
    [trace] = collector.traces.values()
    tries = [span for span in trace if span.service == "student"]
    assert [(span.failed, span.attributes.get("error.type")) for span in tries] == [
        (True, "ValueError"),
        (True, "Refused"),
        (False, None),
    ]
    assert [span.attributes["soliloquy.attempt"] for span in tries] == [0, 1, 0]
    assert [span.name for span in trace if span not in tries] == [hop for hop in HOPS if "student c" not in hop]
    assert {span.parent for span in trace} == {"", root(trace).id}
    assert not any(b"words of a student" in body for body in collector.bodies)


async def _one_is_dead(transport: EmbeddedTransport) -> bool:
    return sum((await transport.dead_letters()).values()) == 1


async def test_a_duration_that_was_measured_in_a_trace_says_in_which(tmp_path: Path, collector: Collector) -> None:
    async with traced(tmp_path / "log", collector, services()) as transport:
        await grown(transport, 1)
    told = f'# {{trace_id="{trace_of(conversation_id(0))}"}}'
    shown = [line for line in generate_latest(REGISTRY).decode().splitlines() if told in line]
    for name in ("soliloquy_handler_seconds", "soliloquy_queue_seconds"):
        assert any(line.startswith(f"{name}_bucket") and 'service="tutor"' in line for line in shown)


async def test_what_is_done_for_several_conversations_is_linked_with_each(tmp_path: Path, collector: Collector) -> None:
    async with traced(tmp_path / "log", collector, []):
        spans.record_batch("collector", "collector shards", ["c1", "c2"], 1.0, rows=2)
    [batch] = collector.spans
    assert set(batch.links) == {trace_of("c1"), trace_of("c2")}
    assert (batch.parent, batch.attributes) == ("", {"soliloquy.rows": 2})
    assert batch.trace not in batch.links


@pytest.mark.parametrize(
    "header", ["", "00", "garbage", "00-zz-yy-01", f"00-{'0' * 32}-{'0' * 16}-01", f"00-{'a' * 32}-{'b' * 16}-00"]
)
async def test_a_caller_that_is_not_traced_is_not_followed(tmp_path: Path, collector: Collector, header: str) -> None:
    async with traced(tmp_path / "log", collector, []):
        with spans.continue_trace("model", "answering", "server", header):
            assert spans.trace_headers() == {}
            assert spans.exemplar() is None
    assert collector.spans == []


async def test_a_process_that_records_nothing_makes_no_spans_and_carries_nothing() -> None:
    with spans.continue_trace("student", "asking", "client", f"00-{'a' * 32}-{'b' * 16}-01") as span:
        assert span is spans.NOTHING
        assert spans.child("model") is spans.NOTHING
        assert spans.trace_headers() == {}
