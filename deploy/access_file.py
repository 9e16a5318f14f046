"""Writes what each program may do on a Kafka that checks access: `python -m deploy.access_file`."""

import json
from collections.abc import Iterable
from pathlib import Path

from soliloquy.runs.assembly import declared, steering
from soliloquy.runs.assignment import SERVICES
from soliloquy.runtime.topics import RETRY, TOPIC_OF, TOPICS, shapes
from soliloquy.runtime.transports.kafka.asyncapi import received, sent
from soliloquy.runtime.transports.kafka.transport import DEAD_LETTER_TOPICS, REPLAYED
from soliloquy.v1.events_pb2 import ConversationFinished

FILE = Path(__file__).parent / "helm/soliloquy/files/access.yaml"
_HEADER = """\
# The rights of each program on a Kafka that checks access, from what the code declares: `python -m deploy.access_file`.
# Topics are read, written and described; a member reads its group, and who looks describes one.
"""
_HANDLED = [topic.name for topic in TOPICS.values() if topic.is_handled]

Rights = dict[str, list[str]]


def programs() -> dict[str, Rights]:
    """Returns the rights of every program, by the chart's component."""
    stages = {
        # Each counts its own dead letters, without those that were replayed.
        service.name: _rights(read=received(service), write=sent(service), member=[service.name], look=[REPLAYED])
        for service in declared()
    }
    gateway, command = steering()
    finished = [TOPIC_OF[ConversationFinished].name]
    return stages | {
        # It shows every event, replays dead letters and shows each stage's backlog.
        "gateway": _rights(
            read=[shape.topic for shape in shapes()],
            write=[*sent(gateway), *_HANDLED],
            member=[REPLAYED],
            look=SERVICES,
        ),
        "test": _rights(read=[*received(command), *DEAD_LETTER_TOPICS], write=sent(command), look=[REPLAYED]),
        "training": _rights(read=finished),
        "retraining": _rights(read=finished),
        "keda": _rights(describe=[topic + suffix for topic in _HANDLED for suffix in ("", RETRY)], look=SERVICES),
    }


def _rights(**names: Iterable[str]) -> Rights:
    return {name: sorted(set(each)) for name, each in names.items()}


def text() -> str:
    return _HEADER + "".join(f"{name}: {json.dumps(rights)}\n" for name, rights in programs().items())


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
