"""What fate_of requests to a stand-in for a hosted model: the troubles of real ones, drawn from a seed."""

import math
from dataclasses import dataclass
from enum import Enum

from soliloquy.runtime.seeds import draw


class Fate(Enum):
    ANSWERED = "answered"
    # 429, with a time to come back at.
    THROTTLED = "throttled"
    # 500.
    FAILED = "failed"
    # The body stops half-way and the connection closes.
    TRUNCATED = "truncated"
    # A body that is no JSON.
    MALFORMED = "malformed"
    # No answer, ever.
    HUNG = "hung"


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultSchedule:
    """Storms come at the end of every period; with a period of 0 there is no end to them."""

    # The share of requests, during a storm, that each trouble fate_of.
    throttled: float = 0.0
    failed: float = 0.0
    truncated: float = 0.0
    malformed: float = 0.0
    hung: float = 0.0
    period: float = 0.0
    storm: float = 0.0
    # Seconds of the median answer, and the sigma of the log-normal distribution round it.
    latency: float = 0.0
    spread: float = 0.0
    seed: int = 0

    def storms(self, elapsed: float) -> bool:
        return not self.period or elapsed % self.period >= self.period - self.storm

    def fate_of(self, request: int, elapsed: float) -> tuple[Fate, float]:
        """The fate of a request by its number, and the seconds that an answer takes."""
        chance = draw("weather", self.seed, request)
        seconds = self.latency * math.exp(self.spread * chance.gauss(0, 1)) if self.spread else self.latency
        drawn, reached = chance.random(), 0.0
        for fate in Fate if self.storms(elapsed) else ():
            reached += getattr(self, fate.value, 0.0)
            if drawn < reached:
                return fate, seconds
        return Fate.ANSWERED, seconds
