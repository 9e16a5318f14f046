"""The progress that a run reports, and whether it can go on."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Backlog
from soliloquy.v1.events_pb2 import ProblemSubmitted

SUBMITTED = TOPIC_OF[ProblemSubmitted].name

# An endpoint for which no call succeeds for so long ends the work, unless it is to wait.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingCalls:
    """The calls to models that have no answer yet."""

    number: int = 0
    oldest_seconds: float = 0.0
    # The last error of an endpoint that has answered no call since.
    error: str = ""
    # The batches that endpoints work on, and how many of the calls are in one.
    batches: int = 0
    batched: int = 0

    @classmethod
    def at(cls, endpoints: Sequence[EndpointStatus]) -> Self:
        return cls(
            number=sum(endpoint.waiting for endpoint in endpoints),
            oldest_seconds=max((endpoint.oldest_seconds for endpoint in endpoints), default=0.0),
            error=next((endpoint.error for endpoint in endpoints if endpoint.error), ""),
            batches=sum(endpoint.batches for endpoint in endpoints),
            batched=sum(endpoint.batched for endpoint in endpoints),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCounts:
    accepted: int
    rejected: int
    # The most frequent reason of the rejections.
    reason: str = ""
    # At the prices of the endpoints, over all conversations so far; None if no price is known.
    cost: float | None = 0.0
    calls: WaitingCalls = field(default_factory=WaitingCalls)


# Receives the counts so far, and why the run cannot go on at the moment; empty while it can.
Show = Callable[[RunCounts, str], None]


def overdue(backlog: Iterable[Backlog]) -> str:
    """Returns at which service events wait for too long; empty if none do. Problems may wait for admission."""
    late = [one for one in backlog if one.oldest_seconds >= PATIENCE_SECONDS and one.topic != SUBMITTED]
    waiting = sorted({one.group for one in late})
    return f"events wait for more than {PATIENCE_SECONDS:g} s at {', '.join(waiting)}: see its log" if late else ""


def hopeless(endpoints: Sequence[EndpointStatus], *, wait: bool) -> str:
    """Returns why the work cannot go on; empty while it may. Nothing is worth waiting for that a person has to fix."""
    for endpoint in endpoints:
        if endpoint.refused:
            return endpoint.error
        if not wait and endpoint.failing_seconds >= PATIENCE_SECONDS:
            return (
                f"{endpoint.where} answered no call for {PATIENCE_SECONDS:g} s ({endpoint.error}): check it, or use "
                "--wait to wait for it"
            )
    return ""
