"""Settings of the composer service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ComposerSettings:
    # Events handled at once; most of their time is waiting for the model.
    max_in_flight: int = 256
