"""The metrics of a stage. Labels are resolved once, not for every event."""

from collections.abc import Collection

from soliloquy.runtime.instruments import counter, gauge, histogram

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
