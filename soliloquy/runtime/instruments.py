"""Creates metrics from `metrics.toml`. A service can export only what that file describes."""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prometheus_client import Counter, Gauge, Histogram

FILE = Path(__file__).with_name("metrics.toml")


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    name: str
    type: str
    # The services that export it, in words.
    by: str
    labels: Sequence[str]
    help: str
    # The unit of one count.
    unit: str
    # Bucket bounds of a histogram.
    buckets: Sequence[float] = ()
    # How processes that count together combine a gauge.
    together: Literal["livesum", "livemax"] = "livesum"


@functools.cache
def schema() -> Mapping[str, Metric]:
    table = tomllib.loads(FILE.read_text("utf-8"))
    bounds = table.pop("buckets")
    return {name: Metric(**_whole(name, row, bounds)) for name, row in table.items()}


def _whole(name: str, row: dict[str, Any], bounds: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Completes a row with the unit that its name implies and its bucket bounds."""
    unit = "seconds" if name.endswith("_seconds") else "count"
    return {"name": name, "unit": unit, **row, "buckets": bounds[row["buckets"]] if "buckets" in row else ()}


def counter(name: str) -> Counter:
    metric = _metric(name, "counter")
    return Counter(name.removesuffix("_total"), metric.help, metric.labels)


def gauge(name: str) -> Gauge:
    metric = _metric(name, "gauge")
    return Gauge(name, metric.help, metric.labels, multiprocess_mode=metric.together)


def histogram(name: str) -> Histogram:
    metric = _metric(name, "histogram")
    return Histogram(name, metric.help, metric.labels, buckets=metric.buckets)


def _metric(name: str, kind: str) -> Metric:
    metric = schema().get(name)
    if metric is None or metric.type != kind:
        raise LookupError(f"{FILE.name} has no {kind} {name!r}: describe it there first")
    return metric
