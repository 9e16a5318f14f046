"""Records spans with OpenTelemetry's SDK, which is imported only when traces are recorded."""

from collections.abc import Iterable, Mapping
from typing import Self

from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from soliloquy.runtime.traces.spans import CURRENT, NOTHING, SAMPLED, Attribute, Kind, Recorder, Span, traceparent_of

NANOSECONDS = 1_000_000_000
_PROPAGATOR = TraceContextTextMapPropagator()
# Attributes with a standard OpenTelemetry name; the others get our prefix.
_NAMES = {
    "topic": "messaging.destination.name",
    "event": "messaging.message.id",
    "error": "error.type",
    "conversation": "gen_ai.conversation.id",
    "operation": "gen_ai.operation.name",
    "provider": "gen_ai.provider.name",
    "request_model": "gen_ai.request.model",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "max_tokens": "gen_ai.request.max_tokens",
    "model": "gen_ai.response.model",
    "finish_reasons": "gen_ai.response.finish_reasons",
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "input_messages": "gen_ai.input.messages",
    "output_messages": "gen_ai.output.messages",
}


class _Ids(RandomIdGenerator):
    """Generates random ids, except for the root of a conversation's trace."""

    def __init__(self) -> None:
        self.next_root: otel.SpanContext | None = None

    def generate_trace_id(self) -> int:
        return self.next_root.trace_id if self.next_root else super().generate_trace_id()

    def generate_span_id(self) -> int:
        root, self.next_root = self.next_root, None
        return root.span_id if root else super().generate_span_id()


class Recording(Recorder):
    """Records the spans of every service in a process. Each service is its own resource."""

    def __init__(self, processor: SpanProcessor, share: float, *, content: bool = False) -> None:
        self.content = content
        self._processor = processor
        # It decides by the trace's id, so every process decides the same.
        self._sampler = TraceIdRatioBased(share)
        self._ids = _Ids()
        self._tracers: dict[str, otel.Tracer] = {}

    def continue_trace(
        self, service: str, name: str, kind: Kind, traceparent: str, since: float | None, **attributes: Attribute
    ) -> Span:
        parent = self._sampled_context(traceparent)
        return _LiveSpan(self._tracer(service), name, kind, parent, attributes, since) if parent else NOTHING

    def record_root(self, service: str, name: str, traceparent: str, since: float, **attributes: Attribute) -> None:
        root = self._sampled_context(traceparent)
        if root is None:
            return
        cause = _context(CURRENT.get().traceparent)
        links = [otel.Link(cause)] if cause else []
        self._ids.next_root = root
        tracer, start = self._tracer(service), int(since * NANOSECONDS)
        tracer.start_span(name, Context(), otel.SpanKind.CONSUMER, _named(attributes), links, start).end()

    def record_batch(self, service: str, name: str, ids: Iterable[str], since: float, **attributes: Attribute) -> None:
        links = [otel.Link(root) for one in ids if (root := self._sampled_context(traceparent_of(one)))]
        if links:
            tracer, start = self._tracer(service), int(since * NANOSECONDS)
            tracer.start_span(name, Context(), attributes=_named(attributes), links=links, start_time=start).end()

    def _sampled_context(self, traceparent: str) -> otel.SpanContext | None:
        context = _context(traceparent)
        if context is None or not self._sampler.should_sample(None, context.trace_id, "").decision.is_sampled():
            return None
        return context

    def _tracer(self, service: str) -> otel.Tracer:
        if service not in self._tracers:
            provider = TracerProvider(
                # The share was chosen before any span is made.
                sampler=ALWAYS_ON,
                resource=Resource.create({SERVICE_NAME: service}),
                id_generator=self._ids,
                shutdown_on_exit=False,
            )
            provider.add_span_processor(self._processor)
            self._tracers[service] = provider.get_tracer("soliloquy")
        return self._tracers[service]


class _LiveSpan(Span):
    def __init__(
        self,
        tracer: otel.Tracer,
        name: str,
        kind: Kind,
        parent: otel.SpanContext,
        attributes: Mapping[str, Attribute],
        since: float | None = None,
    ) -> None:
        under = otel.set_span_in_context(otel.NonRecordingSpan(parent), Context())
        start = None if since is None else int(since * NANOSECONDS)
        self._tracer = tracer
        self._span = tracer.start_span(name, under, otel.SpanKind[kind.upper()], _named(attributes), start_time=start)
        self._context = self._span.get_span_context()
        self._outer: Span = NOTHING

    def __enter__(self) -> Self:
        self._outer = CURRENT.get()
        CURRENT.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # Not with a token: a generator may be left in another context than it was entered in.
        CURRENT.set(self._outer)
        if error is not None:
            # Only the type: the message may quote a student.
            self.note(error=type(error).__name__)
            self._span.set_status(otel.Status(otel.StatusCode.ERROR))
        self._span.end()

    def child(self, name: str, kind: Kind, **attributes: Attribute) -> Span:
        return _LiveSpan(self._tracer, name, kind, self._context, attributes)

    def note(self, **attributes: Attribute) -> None:
        self._span.set_attributes(_named(attributes))

    def event(self, name: str, **attributes: Attribute) -> None:
        self._span.add_event(name, _named(attributes))

    @property
    def traceparent(self) -> str:
        return f"00-{self._context.trace_id:032x}-{self._context.span_id:016x}-{SAMPLED}"


def _context(traceparent: str) -> otel.SpanContext | None:
    """Parses a traceparent; returns None if it is invalid or not sampled."""
    parent = _PROPAGATOR.extract({"traceparent": traceparent}, Context())
    context = otel.get_current_span(parent).get_span_context()
    return context if context.is_valid and context.trace_flags.sampled else None


def _named(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    return {_NAMES.get(name, f"soliloquy.{name}"): value for name, value in attributes.items()}
