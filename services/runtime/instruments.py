"""Instruments by their names in `metrics.toml`: what a service exports is there, and nothing else can be exported."""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prometheus_client import Counter, Gauge, Histogram

FILE = Path(__file__).with_name("metrics.toml")


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    name: str
    type: str
    # Which services export it, in words.
    by: str
    labels: Sequence[str]
    help: str
    # The bounds of a histogram.
    buckets: Sequence[float] = ()
    # What a gauge is of the processes that count together.
    together: Literal["livesum", "livemax"] = "livesum"


class NotInSchema(LookupError):
    """No metric of this name and type is in metrics.toml."""


@functools.cache
def schema() -> Mapping[str, Metric]:
    table = tomllib.loads(FILE.read_text("utf-8"))
    bounds = table.pop("buckets")
    return {
        name: Metric(name=name, **{**row, "buckets": bounds[row["buckets"]] if "buckets" in row else ()})
        for name, row in table.items()
    }


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
        raise NotInSchema(f"{FILE.name} has no {kind} {name!r}: describe it there first")
    return metric
