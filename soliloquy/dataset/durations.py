"""What a clock said of a dataset: how fast it grew, how long its programs and its model's answers took."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below, named, value_counts

# Durations are counted in bins of 6 %, so that what is kept does not grow with the conversations.
BINS_A_DECADE = 40

Histogram = Counter[int]


@dataclass(kw_only=True)
class Durations:
    # How many conversations were collected in each second since 1970.
    collected: Counter[int] = field(default_factory=Counter)
    # By lane.
    executions: dict[str, Histogram] = field(default_factory=dict)
    waits: Histogram = field(default_factory=Counter)
    # By role.
    calls: dict[str, Histogram] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Counts the rows of a shard of timings."""
        self.collected += value_counts(pc.floor(batch["collected_at"]).cast(pa.int64()))
        executions = pc.list_flatten(batch["executions"])
        _add(self.executions, below(executions, "seconds"), by=named(below(executions, "lane"), "LANE_"))
        self.waits += _binned(below(executions, "waited_seconds"))
        calls = pc.list_flatten(batch["calls"])
        _add(self.calls, below(calls, "seconds"), by=below(calls, "role"))

    @property
    def programs(self) -> Histogram:
        """Of all lanes."""
        return sum(self.executions.values(), Counter())

    @property
    def seconds(self) -> int:
        """From the first conversation to the last."""
        return max(self.collected) - min(self.collected) + 1 if self.collected else 0

    @property
    def per_second(self) -> float:
        """Conversations that came in, those not kept included."""
        return self.collected.total() / self.seconds if self.collected else 0.0


def _add(histograms: dict[str, Histogram], seconds: pa.Array, *, by: pa.Array) -> None:
    # Of a dataset from before lanes were told, they are unset.
    by = pc.fill_null(by, "")
    for key in sorted(value_counts(by)):
        histograms[key] = histograms.get(key, Counter()) + _binned(seconds.filter(pc.equal(by, key)))


def quantile(histogram: Histogram, share: float) -> float:
    """The duration that this share of them does not exceed; 0 where there are none."""
    wanted, reached = share * histogram.total(), 0
    for place in sorted(histogram):
        reached += histogram[place]
        if reached >= wanted:
            return bin_start(place + 0.5)
    return 0.0


def bin_start(place: float) -> float:
    """The seconds at which a bin begins."""
    return float(10 ** (place / BINS_A_DECADE))


def _binned(seconds: pa.Array) -> Histogram:
    """What took no time was not measured."""
    measured = seconds.filter(pc.greater(seconds, 0))
    places = np.floor(np.log10(np.asarray(measured)) * BINS_A_DECADE)
    return value_counts(pa.array(places.astype(np.int64)))
