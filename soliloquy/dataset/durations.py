"""Histograms of a dataset's times: how fast it grew, how long its programs and its model's answers took."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below, named, value_counts

# Durations are counted in bins 6 % wide, so that memory does not grow with the conversations.
BINS_A_DECADE = 40
# A run without a conversation for this long, and for so many times its usual gap, stood still.
_PAUSE_SECONDS = 60
_PAUSE_GAPS = 20

# The year 10000; seconds beyond it, or before 1970, are no time of a run.
_END_OF_TIME = 253_402_300_800

Histogram = Counter[int]


@dataclass(kw_only=True)
class Durations:
    # How many conversations were collected in each second since 1970.
    collected: Counter[int] = field(default_factory=Counter)
    # By lane, and below by role.
    executions: dict[str, Histogram] = field(default_factory=dict)
    waits: Histogram = field(default_factory=Counter)
    calls: dict[str, Histogram] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        at = batch["collected_at"]
        known = at.filter(pc.and_(pc.greater_equal(at, 0), pc.less(at, _END_OF_TIME)))
        self.collected += value_counts(pc.floor(known).cast(pa.int64()))
        executions = pc.list_flatten(batch["executions"])
        _add(self.executions, below(executions, "seconds"), by=named(below(executions, "lane"), "LANE_"))
        self.waits += binned(below(executions, "waited_seconds"))
        calls = pc.list_flatten(batch["calls"])
        _add(self.calls, below(calls, "seconds"), by=below(calls, "role"))

    @property
    def programs(self) -> Histogram:
        """The durations of all programs, whatever their lane."""
        return sum(self.executions.values(), Counter())

    @property
    def running(self) -> Counter[int]:
        """How many conversations were collected in each second of the run, which begins with 0 and has no pauses."""
        return _without_pauses(self.collected)

    @property
    def paused(self) -> int:
        """Returns the seconds for which the run stood still, because it was resumed or extended later."""
        return max(self.collected) - min(self.collected) + 1 - self.seconds if self.collected else 0

    @property
    def seconds(self) -> int:
        return max(self.running) + 1 if self.running else 0

    @property
    def per_second(self) -> float:
        """Conversations collected per second, including rejected ones."""
        return self.collected.total() / self.seconds if self.collected else 0.0


def _without_pauses(collected: Counter[int]) -> Counter[int]:
    seconds = sorted(collected)
    gaps = [later - earlier for earlier, later in pairwise(seconds)]
    # Most conversations of a fast run share a second with another.
    is_fast = collected.total() - len(collected) >= len(gaps)
    longest = _PAUSE_SECONDS if is_fast else max(_PAUSE_SECONDS, _PAUSE_GAPS * median(gaps))
    at, found = 0, Counter({0: collected[seconds[0]]}) if seconds else Counter()
    for second, gap in zip(seconds[1:], gaps, strict=True):
        at += gap if gap <= longest else 1
        found[at] = collected[second]
    return found


def _add(histograms: dict[str, Histogram], seconds: pa.Array, *, by: pa.Array) -> None:
    # Datasets of earlier versions have no lanes.
    by = pc.fill_null(by, "")
    for key in sorted(value_counts(by)):
        histograms[key] = histograms.get(key, Counter()) + binned(seconds.filter(pc.equal(by, key)))


def quantile(histogram: Histogram, share: float) -> float:
    """Returns the duration that this share does not exceed; 0 for an empty histogram."""
    wanted, reached = share * histogram.total(), 0
    for number in sorted(histogram):
        reached += histogram[number]
        if reached >= wanted:
            return bin_start(number + 0.5)
    return 0.0


def bin_start(number: float) -> float:
    return float(10 ** (number / BINS_A_DECADE))


def binned(seconds: pa.Array) -> Histogram:
    """Leaves out zeros: those durations were not measured."""
    measured = seconds.filter(pc.and_(pc.greater(seconds, 0), pc.is_finite(seconds)))
    bins = np.floor(np.log10(np.asarray(measured)) * BINS_A_DECADE)
    return value_counts(pa.array(bins.astype(np.int64)))
