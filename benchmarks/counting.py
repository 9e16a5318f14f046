"""The cost of metrics to a stage that does nothing, measured in two ways.

The first compares the same work with and without instruments: it misses no cost, but a busy machine drowns it. The
second runs the instruments of an event alone: it is exact, but leaves out what their memory costs the rest.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from benchmarks import stage_load
from benchmarks.command import Tell
from benchmarks.figures import merged
from benchmarks.transports import connected
from soliloquy.runtime.handling import Handling
from soliloquy.runtime.metrics import TopicMetrics
from soliloquy.runtime.transports.kafka import KafkaSettings

BATCHES = 8
_EVENTS = 5_000
# Seconds that an event of a busy stage waits, and that it is handled.
_QUEUED, _HANDLED = 0.3, 0.0004
# Every method that counts something, ours and FastStream's, and the one that only measures for it.
_COUNTING = (
    (Counter, "inc"),
    (Gauge, "inc"),
    (Gauge, "dec"),
    (Gauge, "set"),
    (Gauge, "set_function"),
    (Histogram, "observe"),
    (Handling, "_measure_wait"),
)


async def measure(kafka: KafkaSettings | None, *, pairs: int, batches: int, tell: Tell) -> dict[str, Any]:
    """Measures Kafka, or the embedded log."""
    async with connected(kafka) as clients:
        client = clients["ours"]
        found = []
        for number in range(pairs):
            tell(f"pair {number + 1} of {pairs}")
            rates = {}
            # The order alternates: a machine that slows down favours neither.
            for counted in (True, False) if number % 2 else (False, True):
                with ExitStack() as without:
                    if not counted:
                        without.enter_context(uncounted())
                    rates[counted] = (await stage_load.saturated(client, batches))["events_per_cpu_second"]
            found.append(
                {
                    "events_per_cpu_second": {"with": rates[True], "without": rates[False]},
                    "share_by_difference": 1 - rates[True] / rates[False],
                    "share_of_cpu": _seconds_an_event() * rates[True],
                }
            )
    return merged(found)


def _seconds_an_event() -> float:
    counted = TopicMetrics("bench", "student.replied")
    began = time.process_time()
    for _ in range(_EVENTS):
        counted.received.inc()
        counted.queued.observe(_QUEUED)
        counted.seconds.observe(_HANDLED)
        counted.succeeded.inc()
    return (time.process_time() - began) / _EVENTS


@contextmanager
def uncounted() -> Iterator[None]:
    """Replaces every instrument by one that does nothing."""
    with ExitStack() as replaced:
        for kind, name in _COUNTING:
            replaced.enter_context(patch.object(kind, name, _nothing))
        replaced.enter_context(patch.object(MetricWrapperBase, "labels", _itself))
        yield


def _nothing(*_: object) -> None:
    pass


def _itself(metric: MetricWrapperBase, *_: object, **__: object) -> MetricWrapperBase:
    return metric
