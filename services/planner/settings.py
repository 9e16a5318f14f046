"""Settings of the planner service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannerSettings:
    # Events handled at once; most of their time is waiting for the model.
    max_in_flight: int = 256
    # Enrichments to remember, of about 5 KB each.
    remembered: int = 2048
