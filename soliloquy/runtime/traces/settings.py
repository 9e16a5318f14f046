"""Where traces are sent, and how many of them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSettings:
    # Of an OTLP collector, over HTTP; empty where nothing is recorded.
    url: str = ""
    # Of all conversations, chosen by their ids.
    share: float = 1.0
