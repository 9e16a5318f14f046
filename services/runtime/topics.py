"""The topics of `topics.toml`, and which message travels on which."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import Message
from soliloquy.v1 import events_pb2

RETRY = ".retry"
DLQ = ".dlq"


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    name: str
    message: type[Message]
    key: str
    keep: str


def _load() -> dict[str, Topic]:
    table = tomllib.loads(Path(__file__).with_name("topics.toml").read_text("utf-8"))
    return {
        name: Topic(name=name, message=getattr(events_pb2, row["message"]), key=row["key"], keep=row["keep"])
        for name, row in table.items()
    }


TOPICS = _load()
TOPIC_OF: dict[type[Message], Topic] = {topic.message: topic for topic in TOPICS.values()}


def origin(topic: str) -> str:
    """The topic an event was first sent to, for a retry or dead-letter topic."""
    return topic.removesuffix(RETRY).removesuffix(DLQ)


def is_retry(topic: str) -> bool:
    return topic.endswith(RETRY)
