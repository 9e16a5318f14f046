"""`soliloquy topics` compares the topics of a Kafka with topics.toml and changes them; `soliloquy asyncapi`."""

import json
from collections.abc import Sequence
from typing import Any

import click
import uvloop

from soliloquy.cli.command import Command, Group, gathered, setting
from soliloquy.cli.options import AS_JSON, whole
from soliloquy.cli.service_options import REQUIRED_KAFKA
from soliloquy.cli.terminal import answer, echo
from soliloquy.runtime.distribution import installed_version
from soliloquy.runtime.transports.kafka import KafkaSettings, layout
from soliloquy.runtime.transports.kafka.layout import Change


@click.group(cls=Group)
def topics() -> None:
    """Create and change the topics of a Kafka.

    soliloquy/runtime/topics.toml defines them.
    """


_PARTITIONS = "Partitions of each topic of conversations; more at any time.  [default: as they are, 12 of new ones]"
_COPIES = "Copies of each event, for clusters with fewer brokers than topics.toml assumes."


def _allowed(
    replication: int | None = setting(_COPIES, type=whole(1, 100)),
    partitions: int | None = setting(_PARTITIONS, type=whole(1, 10_000)),
    grow: bool = setting("Allow more partitions of the topics of runs; no run may be under way."),
) -> dict[str, Any]:
    return {"replication": replication, "partitions": partitions, "grow": grow}


_ALLOWED = gathered(_allowed)


@topics.command()
def plan(*, kafka: KafkaSettings = REQUIRED_KAFKA, allowed: dict[str, Any] = _ALLOWED, as_json: bool = AS_JSON) -> int:
    """Show what apply would change.

    The exit status is 0 if there is nothing to do, 1 if there are changes, and 2 if they cannot be made.
    """
    changes = uvloop.run(layout.plan(kafka, **allowed))
    _tell(changes, f"{_counted(changes)} to make: soliloquy topics apply does it", as_json=as_json)
    return 1 if changes else 0


@topics.command()
def apply(
    *, kafka: KafkaSettings = REQUIRED_KAFKA, allowed: dict[str, Any] = _ALLOWED, as_json: bool = AS_JSON
) -> None:
    """Change the topics to match topics.toml.

    Partitions are never removed. The exit status is 0 if all topics match, and 2 if they cannot.
    """
    changes = uvloop.run(layout.apply(kafka, **allowed))
    _tell(changes, f"{_counted(changes)} made", as_json=as_json)


def _tell(changes: Sequence[Change], summary: str, *, as_json: bool) -> None:
    width = max((len(change.desired.topic) for change in changes), default=0)
    lines = [f"{one.action:<9}  {one.desired.topic:<{width}}  {_in_words(one)}" for one in changes]
    found = {"changes": [_as_json(change) for change in changes]}
    answer(found, [*lines, summary] if lines else ["nothing to do: every topic matches topics.toml"], as_json=as_json)


def _as_json(change: Change) -> dict[str, Any]:
    differences = change.differences()
    return {
        "topic": change.desired.topic,
        "action": change.action,
        "before": {name: before for name, (before, _) in differences.items() if change.actual},
        "after": {name: after for name, (_, after) in differences.items()},
    }


def _in_words(change: Change) -> str:
    if change.actual is None:
        copies = "once" if change.desired.replication == 1 else f"{change.desired.replication} times"
        policy = change.desired.configs["cleanup.policy"]
        return f"{change.desired.partitions} partitions, kept {copies}, cleanup.policy {policy}"
    return ", ".join(f"{name} {before} -> {after}" for name, (before, after) in change.differences().items())


def _counted(changes: Sequence[Change]) -> str:
    return "1 change" if len(changes) == 1 else f"{len(changes)} changes"


@click.command(cls=Command)
def asyncapi() -> None:
    """Print the AsyncAPI 3.0 document of all services, as JSON.

    The channels are the topics, and the operations of a service are the events that it receives and sends. Connects to
    nothing.
    """

    from soliloquy.runs.assembly import declared, steering
    from soliloquy.runtime.transports.kafka.asyncapi import document

    described = document([*declared(), *steering()], version=installed_version(), bootstrap="127.0.0.1:9092")
    echo(json.dumps(described, indent=2))
