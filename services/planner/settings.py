"""What an operator may set for the planner service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannerSettings:
    # Events handled at once; each of them mostly waits for the model.
    max_in_flight: int = 256
    # EnrichmentCache kept at hand, of 5 KB or so each.
    remembered: int = 2048
