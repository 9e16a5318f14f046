"""Spans of the work for a conversation. All of this does nothing while no traces are recorded.

A span tells what was done, how long it took and how it ended. It contains no dialogue, no code and no error message,
which may quote them; prompts and answers only if a setting turns on content.
"""

import functools
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Literal, Self

from soliloquy.runtime.seeds import seed

SAMPLED = "01"
Attribute = str | bool | int | float | Sequence[str]
Kind = Literal["internal", "consumer", "client", "server"]


@functools.lru_cache(maxsize=4096)
def traceparent_of(conversation: str) -> str:
    """Returns the root of a conversation's trace as a W3C traceparent, sampled so that every reader may record.

    It derives from the id, so that all work for a conversation lands in one trace, retries included.
    """
    trace = f"{seed('trace', conversation):016x}{seed('sampling', conversation):016x}"
    return f"00-{trace}-{seed('root', conversation):016x}-{SAMPLED}"


class Span:
    """While entered, it is the parent of new spans. It records the type of an error that leaves it.

    This base records nothing; `recording` has the spans that do.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        pass

    def child(self, name: str, kind: Kind, **attributes: Attribute) -> "Span":
        return self

    def note(self, **attributes: Attribute) -> None:
        pass

    def event(self, name: str, **attributes: Attribute) -> None:
        """Adds an event to the span."""

    @property
    def traceparent(self) -> str:
        """The trace context for a callee; empty if nothing is recorded."""
        return ""


NOTHING = Span()
CURRENT: ContextVar[Span] = ContextVar("span", default=NOTHING)


class Recorder:
    """Starts spans. This base starts none; `recording` has the one that does."""

    # Whether spans may quote prompts and answers.
    content = False

    def continue_trace(
        self, service: str, name: str, kind: Kind, traceparent: str, since: float | None, **attributes: Attribute
    ) -> Span:
        return NOTHING

    def record_root(self, service: str, name: str, traceparent: str, since: float, **attributes: Attribute) -> None:
        pass

    def record_batch(self, service: str, name: str, ids: Iterable[str], since: float, **attributes: Attribute) -> None:
        pass


_NO_RECORDER = Recorder()
_recorder = _NO_RECORDER


def recording() -> bool:
    """Lets callers skip the work of collecting attributes."""
    return _recorder is not _NO_RECORDER


def recording_content() -> bool:
    return _recorder.content


def record_with(recorder: Recorder | None) -> None:
    global _recorder
    _recorder = recorder or _NO_RECORDER


def continue_trace(
    service: str, name: str, kind: Kind, traceparent: str, since: float | None = None, **attributes: Attribute
) -> Span:
    """Starts a child of the span that another process or an earlier event names, now or at `since`."""
    return _recorder.continue_trace(service, name, kind, traceparent, since, **attributes) if traceparent else NOTHING


def record_root(service: str, name: str, traceparent: str, since: float, **attributes: Attribute) -> None:
    """Records the span that a traceparent names, from `since` to now: the root of a conversation's trace."""
    _recorder.record_root(service, name, traceparent, since, **attributes)


def record_batch(service: str, name: str, ids: Iterable[str], since: float, **attributes: Attribute) -> None:
    """Records work for several conversations as a trace of its own that links to theirs."""
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
