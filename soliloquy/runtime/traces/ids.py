"""A conversation's trace follows from its id: whatever is done for it, wherever and however often, is in that one."""

import functools

from soliloquy.runtime.seeds import seed

SAMPLED = "01"


def trace_of(conversation: str) -> str:
    return traceparent_of(conversation).split("-")[1]


@functools.lru_cache(maxsize=4096)
def traceparent_of(conversation: str) -> str:
    """The root of the trace as W3C's header has it; that it is sampled says that whoever reads it may record."""
    trace = f"{seed('trace', conversation):016x}{seed('sampling', conversation):016x}"
    return f"00-{trace}-{seed('root', conversation):016x}-{SAMPLED}"


def is_kept(trace: int, share: float) -> bool:
    """Whether a trace is in the share that is recorded: the same answer in every process, and OpenTelemetry's own."""
    return (trace & (2**64 - 1)) < round(share * 2**64)
