"""Says what of the ScaffoldLM paper can be computed, and counts the raw plans of CLASS, the nearest published data."""

PAPER = "scaffold"
