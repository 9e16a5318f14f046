"""Checks the schemas of custom resources: strict where a definition is strict, open where it is open."""

import copy
from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from tests.cases import each_case
from tests.chart.crds import schemas, strict
from tests.chart.restricted import faults, pods

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


POD: dict[str, Any] = {
    "automountServiceAccountToken": False,
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "initContainers": [],
    "containers": [
        {
            "name": "student",
            "ports": [{"containerPort": 9090}],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
    "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "kafka", "projected": {"sources": []}}],
}


def changed_pod(path: str, value: Any) -> dict[str, Any]:
    """Returns a valid pod but for one field, which is absent if the value is None."""
    pod = copy.deepcopy(POD)
    *way, last = path.split(".")
    part: Any = pod
    for step in way:
        part = part[int(step)] if step.isdigit() else part.setdefault(step, {})
    if value is None:
        del part[last]
    else:
        part[last] = value
    return pod


def test_a_restricted_pod_has_no_fault() -> None:
    assert faults(POD) == []


@each_case
def test_one_bad_field_is_named(path: str, value: Any, control: str) -> None:
    found = faults(changed_pod(path, value))
    assert {fault.split(": ")[0] for fault in found} >= {control}


def test_a_container_may_say_itself_what_its_pod_leaves_open() -> None:
    pod = changed_pod("securityContext.seccompProfile", None)
    pod["containers"][0]["securityContext"]["seccompProfile"] = {"type": "Localhost", "localhostProfile": "a.json"}
    assert faults(pod) == []


def test_pods_are_found_in_whatever_kind_describes_them() -> None:
    job = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": POD}}}}}
    group = {
        "workerGroupSpecs": [{"template": {"spec": POD}}],
        "headGroupSpec": {"template": {"spec": POD}},
    }
    assert list(pods(job)) == [POD]
    assert list(pods({"kind": "RayService", "spec": {"rayClusterConfig": group}})) == [POD, POD]
    assert list(pods({"kind": "Service", "spec": {}})) == []
