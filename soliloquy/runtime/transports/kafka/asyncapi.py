"""Generates the AsyncAPI document with FastStream: one channel per topic, without connecting to a broker."""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

from faststream.kafka import KafkaBroker
from faststream.specification.asyncapi import AsyncAPI
from google.protobuf.message import Message

from soliloquy.runtime.handling import Service
from soliloquy.runtime.topics import DLQ, RETRY, TOPIC_OF, TOPICS, origin, shapes
from soliloquy.runtime.transports.kafka.records import CONTENT_TYPE
from soliloquy.v1 import events_pb2

Document = dict[str, Any]

PROTOBUF = "application/vnd.google.protobuf;version=3"
# Describes a topic by its suffix.
_KINDS = {
    "": "events as they happen",
    RETRY: "events whose handler failed, until they may be tried again",
    DLQ: "events that were given up, until somebody replays them",
}
_BLOCK = re.compile(r"^(?:// .*\n)*(?:message|enum) (\w+) \{\n(?:.*\n)*?\}\n", re.MULTILINE)


def document(services: Sequence[Service], *, version: str, bootstrap: str = "127.0.0.1:9092") -> Document:
    """Describes what each service receives and sends, including retries and dead letters."""
    brokers = [_declared(service, bootstrap) for service in services]
    title = "Soliloquy"
    description = (
        "Tutoring conversations whose numbers are right, grown by services that know each other's events only."
    )
    generator = AsyncAPI(
        *brokers, title=title, version=version, description=description, license={"name": "Apache-2.0"}
    )
    generated: Document = generator.to_specification().to_jsonable()
    [server] = generated["servers"].values()
    return {
        **generated,
        "defaultContentType": CONTENT_TYPE,
        "servers": {"kafka": {"host": server["host"], "protocol": server["protocol"]}},
        "channels": _channels(generated["channels"]),
        "operations": _operations(generated["operations"], generated["channels"], services),
        "components": _components(channel["address"] for channel in generated["channels"].values()),
    }


def _declared(service: Service, bootstrap: str) -> KafkaBroker:
    """Returns a broker that declares the service's subscribers and publishers."""
    broker = KafkaBroker(bootstrap, apply_types=False, logger=None)
    for topic in _received(service):
        broker.subscriber(topic, group_id=service.name, title=f"{service.name}.receive.{topic}")(_nothing)
    for topic in _sent(service):
        broker.publisher(topic, title=f"{service.name}.send.{topic}", schema=bytes)
    return broker


def _handled(service: Service) -> list[str]:
    return [topic + suffix for topic in service.topics for suffix in ("", RETRY)]


def _received(service: Service) -> Iterator[str]:
    yield from _handled(service)
    yield from (TOPIC_OF[message].name for message in (*service.tables, *service.follows))
    followed = TOPIC_OF[events_pb2.RunCancelled].name
    if service.topics and followed not in service.topics:
        yield followed


def _sent(service: Service) -> Iterator[str]:
    yield from (TOPIC_OF[message].name for message in service.emits)
    for topic in service.topics:
        yield from (topic + RETRY, topic + DLQ)


async def _nothing(payload: bytes) -> None:
    """Stands in for the stage."""


def _channels(generated: Document) -> Document:
    """Merges all declarations of a topic into one channel."""
    channels = {channel["address"]: channel for channel in generated.values()}
    for shape in shapes():
        if channel := channels.get(shape.topic):
            name = _message_name(shape.topic)
            channel["description"] = f"Keyed by the {TOPICS[origin(shape.topic)].key}; {_KINDS[_kind(shape.topic)]}."
            channel["servers"] = [{"$ref": "#/servers/kafka"}]
            channel["messages"] = {name: {"$ref": f"#/components/messages/{name}"}}
            channel["bindings"]["kafka"] |= {"partitions": shape.partitions, "replicas": shape.replication}
    return dict(sorted(channels.items()))


def _operations(generated: Document, channels: Document, services: Sequence[Service]) -> Document:
    # A service reads the topics that it only follows outside its group.
    groups = {f"{service.name}.receive.{topic}": service.name for service in services for topic in _handled(service)}
    for name, operation in generated.items():
        topic = channels[name]["address"]
        operation["channel"] = {"$ref": f"#/channels/{topic}"}
        operation["messages"] = [{"$ref": f"#/channels/{topic}/messages/{_message_name(topic)}"}]
        if group := groups.get(name):
            operation["bindings"] = {
                "kafka": {"groupId": {"type": "string", "const": group}, "bindingVersion": "0.4.0"}
            }
    return dict(sorted(generated.items()))


def _components(topics: Iterable[str]) -> Document:
    messages, schemas = {}, {"Event": _headers(), "FailedEvent": _headers(failed=True)}
    for topic in topics:
        message = TOPICS[origin(topic)].message
        name = message.DESCRIPTOR.name
        schemas[name] = {"schemaFormat": PROTOBUF, "schema": proto(message)}
        messages[_message_name(topic)] = {
            "name": message.DESCRIPTOR.full_name,
            "title": name,
            "contentType": CONTENT_TYPE,
            "headers": {"$ref": f"#/components/schemas/{'FailedEvent' if _kind(topic) else 'Event'}"},
            "payload": {"$ref": f"#/components/schemas/{name}"},
            "bindings": {"kafka": {"key": {"type": "string"}, "bindingVersion": "0.4.0"}},
        }
    return {"messages": dict(sorted(messages.items())), "schemas": dict(sorted(schemas.items()))}


def _headers(*, failed: bool = False) -> Document:
    properties = {
        "ce_specversion": {"type": "string", "const": "1.0"},
        "ce_id": _text("Follows from the event that caused it: a redelivery has the same."),
        "ce_type": _text("The full name of the protobuf message."),
        "ce_source": _text("The service that made it."),
        "ce_time": {"type": "string", "format": "date-time"},
        "content-type": {"type": "string", "const": CONTENT_TYPE},
    }
    optional = {"traceparent": _text("W3C trace context.")}
    if failed:
        optional |= {
            "soliloquy_attempt": _text("How often its handler has failed."),
            "soliloquy_not_before": _text("When it may be tried again, in seconds since 1970."),
            "soliloquy_error": _text("On what it failed last."),
        }
    return {"type": "object", "properties": properties | optional, "required": list(properties)}


def _text(description: str) -> Document:
    return {"type": "string", "description": description}


def _kind(topic: str) -> str:
    return topic.removeprefix(origin(topic))


def _message_name(topic: str) -> str:
    name = TOPICS[origin(topic)].message.DESCRIPTOR.name
    return f"{name}Failed" if _kind(topic) else name


def proto(message: type[Message]) -> str:
    """Returns a .proto file with a message and everything that it contains."""
    blocks, root = _blocks(), message.DESCRIPTOR
    names = [root.name, *sorted(_parts_of(message) - {root.name})]
    return "\n".join(['syntax = "proto3";\n', f"package {root.file.package};\n", *(blocks[name] for name in names)])


@functools.cache
def _blocks() -> dict[str, str]:
    """Returns the source of every message and enum in the contract, with comments."""
    contract = files("soliloquy.v1")
    texts = [file.read_text("utf-8") for file in contract.iterdir() if file.name.endswith(".proto")]
    return {block[1]: block[0] for text in texts for block in _BLOCK.finditer(text)}


def _parts_of(message: type[Message]) -> set[str]:
    found, unseen = set[str](), [message.DESCRIPTOR]
    while unseen:
        part = unseen.pop()
        # A map's entry type is written where the map is.
        if not part.GetOptions().map_entry:
            found.add(part.name)
        found.update(field.enum_type.name for field in part.fields if field.enum_type)
        unseen += [
            field.message_type for field in part.fields if field.message_type and field.message_type.name not in found
        ]
    return found
