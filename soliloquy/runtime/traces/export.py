"""Sends spans to a collector in the background; spans that it does not accept in time are dropped and counted."""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_SCHEDULE_DELAY
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from soliloquy.runtime.metrics import counter
from soliloquy.runtime.traces.recording import Recording
from soliloquy.runtime.traces.spans import record_with

# Our defaults for what the SDK reads from the environment. A killed process loses the spans of about one second.
ENVIRONMENT = {OTEL_BSP_MAX_QUEUE_SIZE: "4096", OTEL_BSP_SCHEDULE_DELAY: "1000"}
# OpenTelemetry's own variable by which spans of model calls quote prompts and answers, and its values that say so.
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CONTENT_IN_SPANS = ("true", "span_only", "span_and_event")
# Time to send the rest at shutdown, within the grace period of a process.
LAST_SECONDS = 3.0

_log = logging.getLogger(__name__)
DROPPED = counter("soliloquy_spans_dropped_total")
# Create the labels up front, so that dashboards show 0 and not nothing.
for reason in ("queue_full", "refused"):
    DROPPED.labels(reason)


@contextmanager
def sending(url: str, share: float = 1.0) -> Iterator[None]:
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # The SDK logs every attempt; we log only when the state changes.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    queue = CountingQueue(WatchedExporter(OTLPSpanExporter(url), url))
    record_with(Recording(queue, share, content=os.environ.get(CONTENT, "").lower() in CONTENT_IN_SPANS))
    try:
        yield
    finally:
        record_with(None)
        queue.close(LAST_SECONDS)


class WatchedExporter(SpanExporter):
    """Logs when the collector stops accepting spans and when it accepts them again."""

    def __init__(self, exporter: SpanExporter, url: str) -> None:
        self._exporter = exporter
        self._url = url
        # Whether the last export failed.
        self.failing = False
        # Spans that left the queue.
        self.taken = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.taken += len(spans)
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            if self.failing:
                _log.warning("%s takes traces again", self._url)
            self.failing = False
        else:
            self.dropped(len(spans), "refused")
        return result

    def dropped(self, spans: int, reason: str) -> None:
        DROPPED.labels(reason).inc(spans)
        if not self.failing:
            self.failing = True
            _log.warning("%s does not take traces: they are dropped until it does, and the work goes on", self._url)

    def shutdown(self) -> None:
        self._exporter.shutdown()


class CountingQueue(BatchSpanProcessor):
    """Counts the spans that the SDK's queue would drop because it is full."""

    def __init__(self, exporter: WatchedExporter) -> None:
        super().__init__(exporter)
        self._exporter = exporter
        self._room = int(os.environ[OTEL_BSP_MAX_QUEUE_SIZE])
        self._put = 0

    def on_end(self, span: ReadableSpan) -> None:
        if self._put - self._exporter.taken >= self._room:
            self._exporter.dropped(1, "queue_full")
            return
        self._put += 1
        super().on_end(span)

    def close(self, seconds: float) -> None:
        """Sends the remaining spans for at most `seconds`; does not wait for a collector that is known to be gone."""
        closing = threading.Thread(target=self.shutdown, daemon=True)
        closing.start()
        closing.join(0.0 if self._exporter.failing else seconds)
        if closing.is_alive():
            self._exporter.shutdown()
            self._exporter.dropped(self._put - self._exporter.taken, "queue_full")
