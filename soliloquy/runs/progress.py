"""The progress that a run reports."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCounts:
    accepted: int
    rejected: int
    executions: int


# Receives the counts so far, and why the run cannot go on at the moment; empty while it can.
Show = Callable[[RunCounts, str], None]
