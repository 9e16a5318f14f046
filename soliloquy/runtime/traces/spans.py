"""Spans of the work for a conversation. All of this does nothing while no traces are recorded.

A span tells what was done, how long it took and how it ended. It never contains dialogue: no prompt, no answer, no code
and no error message, which may quote them.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Literal, Protocol, Self

Attribute = str | bool | int | float
Kind = Literal["internal", "consumer", "client", "server"]


class Span(Protocol):
    """While entered, it is the parent of new spans. It records the type of an error that leaves it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None: ...

    def child(self, name: str, kind: Kind, **attributes: Attribute) -> "Span": ...

    def note(self, **attributes: Attribute) -> None: ...

    def event(self, name: str, **attributes: Attribute) -> None:
        """Adds an event to the span."""

    @property
    def traceparent(self) -> str:
        """The trace context for a callee; empty if nothing is recorded."""


class Recorder(Protocol):
    def continue_trace(
        self, service: str, name: str, kind: Kind, traceparent: str, since: float | None, **attributes: Attribute
    ) -> Span: ...

    def record_root(self, service: str, name: str, traceparent: str, since: float, **attributes: Attribute) -> None: ...

    def record_batch(
        self, service: str, name: str, ids: Iterable[str], since: float, **attributes: Attribute
    ) -> None: ...


class _NoSpan:
    """The span while nothing is recorded."""

    traceparent = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        pass

    def child(self, name: str, kind: Kind, **attributes: Attribute) -> Span:
        return self

    def note(self, **attributes: Attribute) -> None:
        pass

    def event(self, name: str, **attributes: Attribute) -> None:
        pass


NOTHING = _NoSpan()
CURRENT: ContextVar[Span] = ContextVar("span", default=NOTHING)

_recorder: Recorder | None = None


def recording() -> bool:
    """Lets callers skip the work of collecting attributes."""
    return _recorder is not None


def record_with(recorder: Recorder | None) -> None:
    global _recorder
    _recorder = recorder


def continue_trace(
    service: str, name: str, kind: Kind, traceparent: str, since: float | None = None, **attributes: Attribute
) -> Span:
    """Starts a child of the span that another process or an earlier event names, now or at `since`."""
    if _recorder and traceparent:
        return _recorder.continue_trace(service, name, kind, traceparent, since, **attributes)
    return NOTHING


def record_root(service: str, name: str, traceparent: str, since: float, **attributes: Attribute) -> None:
    """Records the span that a traceparent names, from `since` to now: the root of a conversation's trace."""
    if _recorder:
        _recorder.record_root(service, name, traceparent, since, **attributes)


def record_batch(service: str, name: str, ids: Iterable[str], since: float, **attributes: Attribute) -> None:
    """Records work for several conversations as a trace of its own that links to theirs."""
    if _recorder:
        _recorder.record_batch(service, name, ids, since, **attributes)


def child(name: str, kind: Kind = "internal", **attributes: Attribute) -> Span:
    return CURRENT.get().child(name, kind, **attributes)


def note(**attributes: Attribute) -> None:
    CURRENT.get().note(**attributes)


def event(name: str, **attributes: Attribute) -> None:
    CURRENT.get().event(name, **attributes)


def trace_headers() -> dict[str, str]:
    """Returns the HTTP headers or gRPC metadata by which a callee joins the trace."""
    traceparent = CURRENT.get().traceparent
    return {"traceparent": traceparent} if traceparent else {}


def exemplar() -> dict[str, str] | None:
    """Returns the current trace as a histogram exemplar, or None."""
    current = CURRENT.get()
    return None if current is NOTHING else {"trace_id": current.traceparent.split("-")[1]}
