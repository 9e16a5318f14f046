"""A collector that is gone, or slow, costs spans and never the work."""

import logging
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from prometheus_client import REGISTRY

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.traces import export, opening, spans
from soliloquy.runtime.traces.export import CountingQueue, WatchedExporter, sending
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.traces.recording import Recording
from soliloquy.runtime.traces.spans import record_with, traceparent_of


def dropped(reason: str) -> float:
    return REGISTRY.get_sample_value("soliloquy_spans_dropped_total", {"reason": reason}) or 0.0


def record(conversations: int) -> None:
    for number in range(conversations):
        spans.record_root("curriculum", "root", traceparent_of(f"c{number}"), time.time())


class Hesitant(SpanExporter):
    """Blocks until it is released, then reports the result."""

    def __init__(self, result: SpanExportResult) -> None:
        self.result = result
        self.may = threading.Event()
        self.got = 0

    def export(self, batch: Sequence[ReadableSpan]) -> SpanExportResult:
        self.may.wait()
        self.got += len(batch)
        return self.result

    def shutdown(self) -> None:
        self.may.set()


@contextmanager
def queued(exporter: Hesitant, monkeypatch: pytest.MonkeyPatch, room: int) -> Iterator[CountingQueue]:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", str(room))
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
    queue = CountingQueue(WatchedExporter(exporter, "http://collector"))
    record_with(Recording(queue, 1.0))
    try:
        yield queue
    finally:
        record_with(None)
        queue.close(5.0)


def until_got(exporter: Hesitant, spans: float) -> None:
    """The remaining spans are not sent to a collector that rejected earlier ones."""
    while exporter.got < spans:
        time.sleep(0.01)


def test_what_a_slow_collector_leaves_no_room_for_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, before = Hesitant(SpanExportResult.SUCCESS), dropped("queue_full")
    with queued(exporter, monkeypatch, room=10):
        record(100)
        kept = 100 - (dropped("queue_full") - before)
        exporter.may.set()
        until_got(exporter, kept)
    # One span may be in flight.
    assert kept in (10, 11)
    assert (exporter.got, dropped("queue_full") - before) == (kept, 100 - kept)


def test_what_a_collector_refuses_is_counted_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    exporter, before = Hesitant(SpanExportResult.FAILURE), dropped("refused")
    exporter.may.set()
    with queued(exporter, monkeypatch, room=1000):
        record(100)
        until_got(exporter, 100)
    assert dropped("refused") - before == 100
    [line] = caplog.messages
    assert line.startswith("http://collector does not take traces")


def test_a_collector_that_is_gone_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(export, "LAST_SECONDS", 0.2)
    # The SDK would retry for this long.
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        began = time.monotonic()
        with sending(f"http://127.0.0.1:{nobody.getsockname()[1]}/v1/traces"):
            record(100)
        assert time.monotonic() - began < 30
    [line] = [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert "does not take traces: they are dropped until it does, and the work goes on" in line


def test_without_what_sends_traces_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "soliloquy.runtime.traces.export", None)
    with pytest.raises(Failure, match=r"pip install -e '\.\[otlp\]'"):
        opening.recorded_traces(TraceSettings(url="http://127.0.0.1:4318"))
