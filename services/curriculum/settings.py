"""The settings of the curriculum service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CurriculumSettings:
    # Events handled at once.
    max_in_flight: int = 64
    # Problems of one partition, over all runs, that may wait in memory for room in their runs.
    max_waiting: int = 2048
