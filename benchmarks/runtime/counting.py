"""What counting costs a stage that does nothing, found in two ways.

The same work with instruments and without, in turns: all that there is, but a busy machine drowns it. And what is
counted of each event counted alone, between the two: exact, and without what its memory costs the rest.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from benchmarks.runtime import load
from benchmarks.runtime.clients import connected
from benchmarks.runtime.figures import merged
from soliloquy.runtime.handling import Handling
from soliloquy.runtime.metrics import TopicMetrics
from soliloquy.runtime.transports.kafka import KafkaSettings

Tell = Callable[[str], None]

BATCHES = 8
_EVENTS = 5_000
# Of an event in a stage that has enough to do.
_QUEUED, _HANDLED = 0.3, 0.0004
# All by which something is counted, ours and FastStream's, and what is measured for it alone.
_COUNTING = (
    (Counter, "inc"),
    (Gauge, "inc"),
    (Gauge, "dec"),
    (Gauge, "set"),
    (Gauge, "set_function"),
    (Histogram, "observe"),
    (Handling, "_measure_wait"),
)


async def measure(kafka: KafkaSettings | None, *, pairs: int, batches: int = BATCHES, tell: Tell) -> dict[str, Any]:
    """On Kafka, or on the embedded log where none is named."""
    async with connected(kafka) as clients:
        client = clients["ours"]
        found = []
        for number in range(pairs):
            tell(f"pair {number + 1} of {pairs}")
            rates = {}
            # A machine that gets slower or faster meanwhile does so for both.
            for counted in (True, False) if number % 2 else (False, True):
                with ExitStack() as without:
                    if not counted:
                        without.enter_context(uncounted())
                    rates[counted] = (await load.saturated(client, batches))["events_per_cpu_second"]
            found.append(
                {
                    "events_per_cpu_second": {"with": rates[True], "without": rates[False]},
                    "share_by_difference": 1 - rates[True] / rates[False],
                    "share_of_cpu": _seconds_an_event() * rates[True],
                }
            )
    return merged(found)


def _seconds_an_event() -> float:
    counted = TopicMetrics.of("bench", "student.replied")
    began = time.process_time()
    for _ in range(_EVENTS):
        counted.received.inc()
        counted.queued.observe(_QUEUED)
        counted.seconds.observe(_HANDLED)
        counted.succeeded.inc()
    return (time.process_time() - began) / _EVENTS


@contextmanager
def uncounted() -> Iterator[None]:
    """Every instrument is replaced by nothing; what begins to work meanwhile finds no labels either."""
    with ExitStack() as replaced:
        for kind, name in _COUNTING:
            replaced.enter_context(patch.object(kind, name, _nothing))
        replaced.enter_context(patch.object(MetricWrapperBase, "labels", _itself))
        yield


def _nothing(*_: object) -> None:
    pass


def _itself(metric: MetricWrapperBase, *_: object, **__: object) -> MetricWrapperBase:
    return metric
