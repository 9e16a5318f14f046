"""`soliloquy asyncapi`: a whole and valid AsyncAPI 3.0 document of what travels where."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

from soliloquy.runs.assembly import declared
from soliloquy.runtime.events import Event
from soliloquy.runtime.topics import TOPIC_OF, TOPICS, origin, shapes
from soliloquy.runtime.transports.kafka.records import headers_of
from tests.e2e.runs import SOLILOQUY, said

COMMAND = [SOLILOQUY, "asyncapi"]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    result = said(COMMAND)
    assert (result.returncode, result.stderr) == (0, "")
    return dict(json.loads(result.stdout))


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            assert node.keys() == {"$ref"}, node
            yield node["$ref"]
        for inner in node.values():
            yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def resolved(document: dict[str, Any], reference: str) -> Any:
    start, *path = reference.split("/")
    assert start == "#"
    node: Any = document
    for part in path:
        node = node[part]
    return node


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    found = list(references(document))
    assert found
    for reference in found:
        assert resolved(document, reference)


def test_every_topic_is_a_channel_with_its_message(document: dict[str, Any]) -> None:
    channels = document["channels"]
    assert channels.keys() == {shape.topic for shape in shapes() if origin(shape.topic) in handled(document)} | set(
        TOPICS
    )
    for topic, channel in channels.items():
        [message] = channel["messages"].values()
        assert channel["address"] == topic == channel["bindings"]["kafka"]["topic"]
        described = resolved(document, message["$ref"])
        assert described["name"] == TOPICS[origin(topic)].message.DESCRIPTOR.full_name


def handled(document: dict[str, Any]) -> set[str]:
    """The topics whose events can fail: a table's and a journal's cannot."""
    return {topic for service in declared() for topic in service.topics}


def test_operations_are_what_the_services_receive_and_send(document: dict[str, Any]) -> None:
    for operation in document["operations"].values():
        channel = resolved(document, operation["channel"]["$ref"])
        for message in operation["messages"]:
            assert message["$ref"].startswith(f"{operation['channel']['$ref']}/messages/")
            assert resolved(document, message["$ref"]) in channel["messages"].values()
    for service in declared():
        for topic in service.topics:
            received = document["operations"][f"{service.name}.receive.{topic}"]
            assert (received["action"], received["channel"]) == ("receive", {"$ref": f"#/channels/{topic}"})
            assert received["bindings"]["kafka"]["groupId"]["const"] == service.name
        for message in service.emits:
            topic = TOPIC_OF[message].name
            sent = document["operations"][f"{service.name}.send.{topic}"]
            assert (sent["action"], sent["channel"]) == ("send", {"$ref": f"#/channels/{topic}"})


def test_headers_are_those_that_travel(document: dict[str, Any]) -> None:
    event = Event(
        id="1", topic="student.replied", key="c", payload=b"", source="student", time=0.0, traceparent="00-1",
        lineage="0123456789ab",
    )  # fmt: skip
    failed = replace(event, topic="student.replied.retry", attempt=1, not_before=1.0, error="busy")
    for each, schema in ((event, "Event"), (failed, "FailedEvent")):
        described = document["components"]["schemas"][schema]
        assert described["properties"].keys() == dict(headers_of(each)).keys()
        assert set(described["required"]) <= described["properties"].keys()


@pytest.mark.parametrize("topic", TOPICS)
def test_schemas_compile_to_the_messages_that_travel(document: dict[str, Any], topic: str, tmp_path: Path) -> None:
    message = TOPICS[topic].message.DESCRIPTOR
    payload = document["components"]["schemas"][message.name]
    assert payload["schemaFormat"] == "application/vnd.google.protobuf;version=3"
    (tmp_path / "event.proto").write_text(payload["schema"], "utf-8")
    compiled = tmp_path / "compiled"
    status = protoc.main(["protoc", f"-I{tmp_path}", f"--descriptor_set_out={compiled}", "event.proto"])
    assert status == 0
    [file] = FileDescriptorSet.FromString(compiled.read_bytes()).file
    described = {
        each.name: [(field.name, field.number, field.type) for field in each.field] for each in file.message_type
    }
    assert described[message.name] == [(field.name, field.number, field.type) for field in message.fields]
    entries = [entry for each in file.message_type for entry in each.nested_type]
    fields = [field for each in (*file.message_type, *entries) for field in each.field]
    used = {field.type_name.split(".")[-1] for field in fields if field.type_name} - {entry.name for entry in entries}
    assert set(described) | {each.name for each in file.enum_type} == used | {message.name}


def test_it_is_the_same_each_time(document: dict[str, Any]) -> None:
    assert json.loads(said(COMMAND).stdout) == document
    assert list(document["operations"]) == sorted(document["operations"])
