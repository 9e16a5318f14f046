"""How the stand-in fails."""

from dataclasses import dataclass, field
from enum import Enum

from soliloquy.runtime.seeds import draw
from soliloquy_services.model.fake.batches import BatchFaults


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
class FakeSettings:
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
    # The value of Retry-After; empty for no header.
    retry_after: str = "1"
    # The required API key; empty for none.
    key: str = field(default="", repr=False)
    # The fewest tokens of a prompt that a cache of prefixes holds; None for an endpoint without one.
    prefix_cache: int | None = None
    # How long a batch takes, and the faults of batches.
    batch_latency: float = 1.0
    batch_faults: BatchFaults = field(default_factory=BatchFaults)
    # The dialect decides what the stand-in accepts and how it answers; without one it accepts everything.
    dialect: str = ""

    def fate_of(self, request: int, elapsed: float) -> Fate:
        """Returns the fate of a request by its number."""
        drawn, reached = draw("weather", self.seed, request).random(), 0.0
        is_calm = self.period and elapsed % self.period < self.period - self.storm
        for fate in () if is_calm else Fate:
            reached += getattr(self, fate.value, 0.0)
            if drawn < reached:
                return fate
        return Fate.ANSWERED
