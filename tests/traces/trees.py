"""Checks whether a conversation's spans form one tree without missing hops."""

from collections.abc import Sequence

from soliloquy.runtime.seeds import digest
from soliloquy.runtime.topics import origin
from soliloquy.runtime.traces.spans import traceparent_of
from tests.traces.collector import Span

# The messages that one handler returns.
MOST_OUTPUTS = 3
# Tolerance, because clocks are read before and after the measured work.
TOLERANCE_SECONDS = 0.01


def trace_of(conversation: str) -> str:
    return traceparent_of(conversation).split("-")[1]


def root(spans: Sequence[Span]) -> Span:
    [found] = [span for span in spans if not span.parent]
    return found


def orphans(spans: Sequence[Span]) -> list[Span]:
    known = {span.id for span in spans}
    return [span for span in spans if span.parent and span.parent not in known]


def handlings(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans of events; the others belong to calls that handlers made."""
    return [span for span in spans if "messaging.message.id" in span.attributes]


def gaps(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans of events that no other span in the trace can have produced: the hop before them is missing."""
    hops = handlings(spans)
    return [hop for hop in hops if hop.parent and not any(_caused(hop, cause) for cause in hops)]


def _caused(hop: Span, cause: Span) -> bool:
    topic = origin(hop.attributes["messaging.destination.name"])
    returned = (digest(cause.attributes["messaging.message.id"], topic, place) for place in range(MOST_OUTPUTS))
    made = hop.began - hop.attributes["soliloquy.queue_seconds"]
    return (
        hop.attributes["messaging.message.id"] in returned
        and cause.began - TOLERANCE_SECONDS <= made <= cause.ended + TOLERANCE_SECONDS
    )
