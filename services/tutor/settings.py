"""Settings of the tutor service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TutorSettings:
    # Events handled at once; most of their time is waiting for the model.
    max_in_flight: int = 256
