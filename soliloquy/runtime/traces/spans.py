"""What is done for a conversation, as spans; where nothing is recorded, all of this does nothing.

A span says what was done, how long it took and what came of it. It never holds what was said: no prompt, no answer, no
code and no error's words, which may quote them.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Literal, Protocol, Self

Attribute = str | bool | int | float
Kind = Literal["internal", "consumer", "client", "server"]


class Span(Protocol):
    """Entered, it is the one that further spans become children of; left by an error, it says which."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None: ...

    def child(self, name: str, kind: Kind, **attributes: Attribute) -> "Span": ...

    def note(self, **attributes: Attribute) -> None: ...

    def event(self, name: str, **attributes: Attribute) -> None:
        """Something that happened meanwhile."""

    @property
    def traceparent(self) -> str:
        """What a callee is told; empty where nothing is recorded."""


class Recorder(Protocol):
    def joined(
        self, service: str, name: str, kind: Kind, traceparent: str, since: float | None, **attributes: Attribute
    ) -> Span: ...

    def begun(self, service: str, name: str, traceparent: str, since: float, **attributes: Attribute) -> None: ...

    def batch(self, service: str, name: str, of: Iterable[str], since: float, **attributes: Attribute) -> None: ...


class _Nothing:
    """Where nothing is recorded."""

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


NOTHING = _Nothing()
CURRENT: ContextVar[Span] = ContextVar("span", default=NOTHING)

_recorder: Recorder | None = None


def recording() -> bool:
    """For those who would first have to find out what to tell."""
    return _recorder is not None


def record_with(recorder: Recorder | None) -> None:
    global _recorder
    _recorder = recorder


def joined(
    service: str, name: str, kind: Kind, traceparent: str, since: float | None = None, **attributes: Attribute
) -> Span:
    """A child of the span that another process, or an earlier event, names; it begins now, or began a moment ago."""
    if _recorder and traceparent:
        return _recorder.joined(service, name, kind, traceparent, since, **attributes)
    return NOTHING


def begun(service: str, name: str, traceparent: str, since: float, **attributes: Attribute) -> None:
    """Records the very span that a traceparent names, from a moment to now: the root of a conversation's trace."""
    if _recorder:
        _recorder.begun(service, name, traceparent, since, **attributes)


def batch(service: str, name: str, of: Iterable[str], since: float, **attributes: Attribute) -> None:
    """Records what was done for several conversations at once: a trace of its own, linked with theirs."""
    if _recorder:
        _recorder.batch(service, name, of, since, **attributes)


def child(name: str, kind: Kind = "internal", **attributes: Attribute) -> Span:
    return CURRENT.get().child(name, kind, **attributes)


def note(**attributes: Attribute) -> None:
    CURRENT.get().note(**attributes)


def event(name: str, **attributes: Attribute) -> None:
    CURRENT.get().event(name, **attributes)


def carried() -> dict[str, str]:
    """The headers, or gRPC's metadata, by which a callee joins the trace."""
    traceparent = CURRENT.get().traceparent
    return {"traceparent": traceparent} if traceparent else {}


def exemplar() -> dict[str, str] | None:
    """The trace in which a duration was measured, for its histogram; None where none is recorded."""
    current = CURRENT.get()
    return None if current is NOTHING else {"trace_id": current.traceparent.split("-")[1]}
