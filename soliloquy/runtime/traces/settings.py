"""Settings of traces."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSettings:
    # URL of an OTLP collector over HTTP; empty records nothing.
    url: str = ""
    # The share of conversations, chosen by id.
    share: float = 1.0
