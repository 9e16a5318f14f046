"""Draws the faults of a stand-in for a hosted model from a seed."""

from dataclasses import dataclass
from enum import Enum

from soliloquy.runtime.seeds import draw


class Fate(Enum):
    ANSWERED = "answered"
    # 429, with Retry-After.
    THROTTLED = "throttled"
    # 500.
    FAILED = "failed"
    # The body stops half-way and the connection closes.
    TRUNCATED = "truncated"
    # The body is not JSON.
    MALFORMED = "malformed"
    # Never answers.
    HUNG = "hung"


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultSchedule:
    """Faults only occur during storms, at the end of every period; a period of 0 is a permanent storm."""

    # The share of requests during a storm that have each fault.
    throttled: float = 0.0
    failed: float = 0.0
    truncated: float = 0.0
    malformed: float = 0.0
    hung: float = 0.0
    period: float = 0.0
    storm: float = 0.0
    # The seconds of an answer.
    latency: float = 0.0
    seed: int = 0

    def storms(self, elapsed: float) -> bool:
        return not self.period or elapsed % self.period >= self.period - self.storm

    def fate_of(self, request: int, elapsed: float) -> Fate:
        """Returns the fate of a request by its number."""
        drawn, reached = draw("weather", self.seed, request).random(), 0.0
        for fate in Fate if self.storms(elapsed) else ():
            reached += getattr(self, fate.value, 0.0)
            if drawn < reached:
                return fate
        return Fate.ANSWERED
