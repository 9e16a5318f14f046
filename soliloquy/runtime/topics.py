"""The topics of `topics.toml` and the messages they carry."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from google.protobuf.message import Message

from soliloquy.runtime.files import table_beside
from soliloquy.v1 import events_pb2

RETRY = ".retry"
DLQ = ".dlq"

Row = dict[str, str | int | float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    name: str
    message: type[Message]
    key: str
    keep: str
    # The parts that a conversation on this topic must have.
    needs: Sequence[str] = ()
    # The periods that an event of this topic begins and ends: a turn, a conversation.
    begins: str = ""
    ends: Sequence[str] = ()
    # Whether its events wait by design: no period has the time.
    waits: bool = False
    # Kafka settings that differ from topics with the same retention.
    kafka: Row = field(default_factory=dict)

    @property
    def is_handled(self) -> bool:
        """Whether services handle its events, and may fail to."""
        return self.keep not in ("latest", "record")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The desired state of a topic in Kafka."""

    topic: str
    partitions: int
    replication: int
    # Topic configs by Kafka's names.
    configs: Mapping[str, str]


def _load() -> tuple[dict[str, Topic], dict[str, Row]]:
    table = table_beside(__file__, "topics.toml")
    layers = table.pop("kafka")
    topics = {
        name: Topic(**row | {"name": name, "message": getattr(events_pb2, row["message"])})
        for name, row in table.items()
    }
    return topics, layers


TOPICS, _LAYERS = _load()
TOPIC_OF: dict[type[Message], Topic] = {topic.message: topic for topic in TOPICS.values()}


@functools.cache
def origin(topic: str) -> str:
    """Returns the original topic of a retry or dead-letter topic."""
    return topic.removesuffix(RETRY).removesuffix(DLQ)


def is_retry(topic: str) -> bool:
    return topic.endswith(RETRY)


def is_spread(topic: str) -> bool:
    """Whether it may have any number of partitions, and more at any time.

    A conversation has one event at a time, wherever that is. The events of a run stay with its row in a table.
    """
    return TOPICS[origin(topic)].key == "conversation" and not topic.endswith(DLQ)


def shapes(replication: int | None = None, partitions: int | None = None) -> list[Shape]:
    """Returns the desired state of every topic; `replication`, and `partitions` of spread ones, override the file."""
    every = _LAYERS["every"]
    wanted: dict[str, Row] = {}
    for topic in TOPICS.values():
        kept = every | _LAYERS[topic.keep]
        wanted[topic.name] = kept | topic.kafka
        if topic.is_handled:
            wanted[topic.name + RETRY] = kept | topic.kafka
            wanted[topic.name + DLQ] = kept | _LAYERS["dlq"]
    found = []
    for name, row in wanted.items():
        copies = replication or int(row["replication"])
        configs = {key: str(value) for key, value in row.items() if key not in ("partitions", "replication")}
        # With fewer replicas than this, the topic would reject every write.
        configs["min.insync.replicas"] = str(min(int(row["min.insync.replicas"]), copies))
        number = partitions if partitions and is_spread(name) else int(row["partitions"])
        found.append(Shape(topic=name, partitions=number, replication=copies, configs=configs))
    return found
