"""What a stage exports, with every label set's handle looked up once."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from prometheus_client import Counter, Gauge, Histogram

LABELS = ("service", "topic")
SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

RECEIVED = Counter("soliloquy_events_received", "Events fetched from a topic or its retry topic.", LABELS)
SUCCEEDED = Counter("soliloquy_events_succeeded", "Events whose handler succeeded.", LABELS)
PARKED = Counter("soliloquy_events_parked", "Failed events sent to the retry topic.", LABELS)
DEAD = Counter("soliloquy_events_dead", "Events given up and sent to the dead letters.", LABELS)
DUPLICATES = Counter("soliloquy_events_duplicate", "Events dropped because their id was completed lately.", LABELS)
FENCED = Counter("soliloquy_events_fenced", "Results discarded because the partition had been lost.", LABELS)
CANCELLED = Counter("soliloquy_events_cancelled", "Events dropped because their run was cancelled.", LABELS)
RETRIES = Counter("soliloquy_handler_retries", "Handler runs repeated in place after a fault that may pass.", LABELS)
HANDLER = Histogram(
    "soliloquy_handler_seconds", "Time in a handler, retries in place included.", LABELS, buckets=SECONDS
)
LAG = Gauge("soliloquy_lag_events", "Events of a held partition that are not finished.", (*LABELS, "partition"))
OLDEST = Gauge(
    "soliloquy_oldest_uncommitted_seconds", "Age of its oldest event that is not finished.", (*LABELS, "partition")
)
DEAD_LETTERS = Gauge("soliloquy_dead_letters", "Events in a topic's dead-letter topic.", LABELS)
PASSED_OVER = Counter(
    "soliloquy_events_passed_over",
    "Records of a topic that is read and not handled that are no message of ours.",
    LABELS[1:],
)
LANES = Gauge("soliloquy_lanes_in_use", "Handlers running.", LABELS[:1])


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicMetrics:
    """The handles of one service and topic; a retry topic's events count for its origin."""

    received: Counter
    succeeded: Counter
    parked: Counter
    dead: Counter
    duplicates: Counter
    fenced: Counter
    cancelled: Counter
    retries: Counter
    seconds: Histogram
    dead_letters: Gauge

    @classmethod
    def of(cls, service: str, topic: str) -> Self:
        return cls(
            received=RECEIVED.labels(service, topic),
            succeeded=SUCCEEDED.labels(service, topic),
            parked=PARKED.labels(service, topic),
            dead=DEAD.labels(service, topic),
            duplicates=DUPLICATES.labels(service, topic),
            fenced=FENCED.labels(service, topic),
            cancelled=CANCELLED.labels(service, topic),
            retries=RETRIES.labels(service, topic),
            seconds=HANDLER.labels(service, topic),
            dead_letters=DEAD_LETTERS.labels(service, topic),
        )


def topic_metrics(service: str, topics: Collection[str]) -> dict[str, TopicMetrics]:
    return {topic: TopicMetrics.of(service, topic) for topic in topics}
