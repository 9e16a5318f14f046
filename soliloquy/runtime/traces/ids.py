"""Derives a conversation's trace from its id, so that all work for it lands in one trace, retries included."""

import functools

from soliloquy.runtime.seeds import seed

SAMPLED = "01"


def trace_of(conversation: str) -> str:
    return traceparent_of(conversation).split("-")[1]


@functools.lru_cache(maxsize=4096)
def traceparent_of(conversation: str) -> str:
    """Returns the trace's root as a W3C traceparent, marked as sampled so that every reader may record."""
    trace = f"{seed('trace', conversation):016x}{seed('sampling', conversation):016x}"
    return f"00-{trace}-{seed('root', conversation):016x}-{SAMPLED}"


def is_kept(trace: int, share: float) -> bool:
    """Whether a trace is in the recorded share. Every process decides the same, and as OpenTelemetry does."""
    return (trace & (2**64 - 1)) < round(share * 2**64)
