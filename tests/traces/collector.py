"""An OTLP collector on this machine: receives spans over HTTP, as Jaeger does, and keeps them."""

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PATH = "/v1/traces"


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    service: str
    name: str
    trace: str
    id: str
    # Empty for a root.
    parent: str
    # Seconds since the epoch.
    began: float
    ended: float
    failed: bool
    attributes: Mapping[str, Any]
    events: tuple[str, ...]
    # The traces that it links to.
    links: tuple[str, ...]


class Collector:
    """Returns what has arrived so far."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.url = ""

    @property
    def spans(self) -> list[Span]:
        return [span for body in list(self.bodies) for span in _spans(ExportTraceServiceRequest.FromString(body))]

    @property
    def traces(self) -> dict[str, list[Span]]:
        """Returns the spans of each trace by start time."""
        found: dict[str, list[Span]] = {}
        for span in sorted(self.spans, key=lambda span: span.began):
            found.setdefault(span.trace, []).append(span)
        return found


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == PATH
            collector.bodies.append(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield collector
        finally:
            server.shutdown()
            serving.join()


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for resource in request.resource_spans:
        service = next(one.value.string_value for one in resource.resource.attributes if one.key == "service.name")
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    service=service,
                    name=span.name,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    began=span.start_time_unix_nano / 1e9,
                    ended=span.end_time_unix_nano / 1e9,
                    failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    attributes={one.key: _value(one.value) for one in span.attributes},
                    events=tuple(event.name for event in span.events),
                    links=tuple(link.trace_id.hex() for link in span.links),
                )


def _value(value: Any) -> Any:
    held = getattr(value, value.WhichOneof("value"))
    return [_value(one) for one in held.values] if value.HasField("array_value") else held
