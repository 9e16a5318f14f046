"""What an operator may set for the curriculum service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CurriculumSettings:
    # Runs that can wait for room at once, and judgements handled beside them.
    max_in_flight: int = 64
