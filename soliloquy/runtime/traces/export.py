"""Spans sent to a collector, beside the work: what it does not take in time is dropped and counted."""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_SCHEDULE_DELAY
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from soliloquy.runtime.traces.metrics import DROPPED
from soliloquy.runtime.traces.recording import Recording
from soliloquy.runtime.traces.settings import TraceSettings
from soliloquy.runtime.traces.spans import record_with

# What the SDK reads from the environment, where that says nothing else. A process that is killed loses the spans of
# about the last second.
ENVIRONMENT = {OTEL_BSP_MAX_QUEUE_SIZE: "4096", OTEL_BSP_SCHEDULE_DELAY: "1000"}
# For what is left at the end, within what a process has to end.
LAST_SECONDS = 3.0

_log = logging.getLogger(__name__)


@contextmanager
def sending(settings: TraceSettings) -> Iterator[None]:
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # It logs every try; what they come to is said once.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    queue = Queue(Watched(OTLPSpanExporter(settings.url), settings.url))
    record_with(Recording(queue, settings.share))
    try:
        yield
    finally:
        record_with(None)
        queue.close(LAST_SECONDS)


class Watched(SpanExporter):
    """An exporter that says in a line that its spans are not taken, and when they are again."""

    def __init__(self, exporter: SpanExporter, url: str) -> None:
        self._exporter = exporter
        self._url = url
        # Whether what was sent last was not taken.
        self.failing = False
        # Spans that were taken out of the queue.
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


class Queue(SpanProcessor):
    """The SDK's own, which drops without a word what it has no room for; here it is counted before."""

    def __init__(self, exporter: Watched) -> None:
        self._exporter = exporter
        self._room = int(os.environ[OTEL_BSP_MAX_QUEUE_SIZE])
        self._batches = BatchSpanProcessor(exporter)
        self._put = 0

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        pass

    def on_end(self, span: ReadableSpan) -> None:
        if self._put - self._exporter.taken >= self._room:
            self._exporter.dropped(1, "queue_full")
            return
        self._put += 1
        self._batches.on_end(span)

    def close(self, seconds: float) -> None:
        """Sends what is left, for so many seconds; nobody waits for a collector that is known to be gone."""
        closing = threading.Thread(target=self._batches.shutdown, daemon=True)
        closing.start()
        closing.join(0.0 if self._exporter.failing else seconds)
        if closing.is_alive():
            self._exporter.shutdown()
            self._exporter.dropped(self._put - self._exporter.taken, "queue_full")
