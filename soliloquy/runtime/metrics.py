"""The metrics of a stage. Labels are resolved once, not for every event."""

import functools
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from prometheus_client import Counter, Gauge, Histogram

M = TypeVar("M", Counter, Histogram)

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


@functools.cache
def series(metric: M, *labels: str) -> M:
    """Returns a series that its metric never removes; the metric itself takes much longer to find it."""
    return metric.labels(*labels)


def _metric(name: str, kind: str) -> Metric:
    metric = schema().get(name)
    if metric is None or metric.type != kind:
        raise LookupError(f"{FILE.name} has no {kind} {name!r}: describe it there first")
    return metric


RECEIVED = counter("soliloquy_events_received_total")
SUCCEEDED = counter("soliloquy_events_succeeded_total")
PARKED = counter("soliloquy_events_parked_total")
DEAD = counter("soliloquy_events_dead_total")
DUPLICATES = counter("soliloquy_events_duplicate_total")
FENCED = counter("soliloquy_events_fenced_total")
CANCELLED = counter("soliloquy_events_cancelled_total")
PASSED_OVER = counter("soliloquy_events_passed_over_total")
RETRIES = counter("soliloquy_handler_retries_total")
HANDLER = histogram("soliloquy_handler_seconds")
QUEUE = histogram("soliloquy_queue_seconds")
LAG = gauge("soliloquy_lag_events")
OLDEST = gauge("soliloquy_oldest_uncommitted_seconds")
DEAD_LETTERS = gauge("soliloquy_dead_letters")
LANES_IN_USE = gauge("soliloquy_lanes_in_use")
LANES = gauge("soliloquy_lanes")
SERVICE_READY = gauge("soliloquy_service_ready")
# Durations that end with an event, by their names in topics.toml.
TOOK = {"conversation": histogram("soliloquy_conversation_seconds"), "turn": histogram("soliloquy_turn_seconds")}


class TopicMetrics:
    """The metrics of one service and topic; events of a retry topic count for the original topic."""

    def __init__(self, service: str, topic: str) -> None:
        labels = (service, topic)
        self.received = RECEIVED.labels(*labels)
        self.succeeded = SUCCEEDED.labels(*labels)
        self.parked = PARKED.labels(*labels)
        self.dead = DEAD.labels(*labels)
        self.duplicates = DUPLICATES.labels(*labels)
        self.fenced = FENCED.labels(*labels)
        self.cancelled = CANCELLED.labels(*labels)
        self.retries = RETRIES.labels(*labels)
        self.seconds = HANDLER.labels(*labels)
        self.queued = QUEUE.labels(*labels)
        self.dead_letters = DEAD_LETTERS.labels(*labels)


def topic_metrics(service: str, topics: Collection[str]) -> dict[str, TopicMetrics]:
    return {topic: TopicMetrics(service, topic) for topic in topics}
