"""Checks the schemas of custom resources: strict where a definition is strict, open where it is open."""

from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from tests.cases import each_case
from tests.chart.crds import schemas, strict

OBJECT: dict[str, Any] = {"type": "object"}
TEXT = {"type": "string"}
ACL = {
    "type": "object",
    "properties": {"operations": {"type": "array", "items": {"enum": ["Read", "Write"]}}, "host": TEXT, "role": TEXT},
    "oneOf": [{"required": ["host"]}, {"required": ["role"]}],
}
SPEC = {
    "type": "object",
    "required": ["acls"],
    "properties": {
        "authentication": OBJECT | {"properties": {"type": {"enum": ["tls", "scram-sha-512"]}}, "required": ["type"]},
        "config": OBJECT | {"x-kubernetes-preserve-unknown-fields": True, "properties": {}},
        "labels": OBJECT | {"additionalProperties": TEXT},
        "port": {"x-kubernetes-int-or-string": True},
        "acls": {"type": "array", "items": ACL},
    },
}
DEFINED = OBJECT | {"properties": {"apiVersion": TEXT, "metadata": OBJECT, "spec": SPEC}}
GOOD: dict[str, Any] = {"acls": []}


def refusals(spec: dict[str, Any]) -> list[str]:
    told = {"apiVersion": "kafka.example/v1", "metadata": {"name": "a", "anything": 1}, "spec": spec}
    return [error.json_path for error in Draft202012Validator(strict(DEFINED)).iter_errors(told)]


@each_case
def test_what_a_definition_allows_is_taken(more: dict[str, Any]) -> None:
    assert refusals(GOOD | more) == []


@each_case
def test_what_it_does_not_know_is_found(more: dict[str, Any], where: str) -> None:
    assert where in refusals(GOOD | more)


def test_what_a_definition_leaves_open_stays_open() -> None:
    free = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-preserve-unknown-fields": True}
    assert list(Draft202012Validator(strict(free)).iter_errors({"b": 1})) == []
    empty = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}
    assert list(Draft202012Validator(strict(empty)).iter_errors({"a": None})) == []


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_strimzi_s_own_definitions_are_held_against(version: str) -> None:
    topic: dict[str, Any] = {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaTopic",
        "metadata": {"name": "a"},
    }
    refused = Draft202012Validator(schemas()[topic["apiVersion"], "KafkaTopic"]).iter_errors
    assert list(refused(topic | {"spec": {"partitions": 1, "replicas": 3}})) == []
    assert [error.json_path for error in refused(topic | {"spec": {"partitions": 0}})] == ["$.spec.partitions"]
