"""What an operator may set for the collector service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectorSettings:
    # Conversations judged and written at once; they share one flush to the disk.
    max_in_flight: int = 64
