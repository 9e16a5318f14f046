"""Finds the chart's rendered objects by kind and name."""

import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart.render import HELMS, Document, Refused, Values, load, rendered

IMAGES: Values = {"global": {"imageRegistry": "registry.example.com/tutoring"}}
# What every installation must give.
REQUIRED: Values = IMAGES | {"kafka": {"bootstrap": "kafka-0.data:9092,kafka-1.data:9093"}}
PREPARED: Values = {"apiVersionsCheck": False, "sandbox": {"nested": {"profileBy": "node"}}}
# A broker of the release's own.
TRIED: Values = {"kafka": {"bootstrap": "", "development": {"enabled": True}}}
SERVED: Values = {
    "model": {"engine": "ray"},
    "modelService": {"enabled": True, "path": "/models/base", "workers": {"replicas": {"min": 1, "max": 4}}},
}
TRAINED: Values = {
    "training": {
        "args": ["--config", "soliloquy", "--base", "/models/base", "--data", "it's", "--name=tutor-$(JOB_NAME)"],
        "freeze": ["--out", "/trained/frozen/$(JOB_NAME)"],
        "rayJob": {"enabled": True},
        "cronJob": {"enabled": True},
        "persistence": {"accessModes": ["ReadWriteMany"]},
    }
}
PUBLIC: Values = {
    "gateway": {
        "tokens": {"existingSecret": "tokens"},
        "host": "soliloquy.example.com",
        "ingress": {"enabled": True, "tlsSecret": "certificate"},
        "route": {"enabled": True, "parentRefs": [{"name": "public", "sectionName": "https"}]},
    }
}
RETRAINED: Values = {
    **SERVED,
    "training": {
        "retraining": {
            "enabled": True,
            "args": ["--config", "soliloquy", "--base", "/models/base", "--name", "tutor", "--registry", "/adapters"],
        }
    },
}


def objects(*values: Values) -> list[Document]:
    """Renders for a cluster without operators, whose nodes are prepared, unless the values say otherwise."""
    return _objects(json.dumps([REQUIRED, PREPARED, *values]))


@functools.cache
def _objects(values: str) -> list[Document]:
    return load(rendered(HELMS[0], *json.loads(values)))


def named(found: list[Document], kind: str, name: str = "") -> Document:
    """Returns the only object of that kind, or the one with that name after the release's."""
    [one] = [each for each in found if each["kind"] == kind and (not name or called(each) == name)]
    return one


def kinds(found: list[Document], kind: str) -> dict[str, Document]:
    return {called(each): each for each in found if each["kind"] == kind}


def called(document: Document) -> str:
    name: str = document["metadata"]["name"]
    return name.removeprefix("lab-soliloquy").removeprefix("-")


def services(found: list[Document]) -> dict[str, Document]:
    return kinds(found, "Deployment") | kinds(found, "StatefulSet")


def pods(found: list[Document]) -> Iterator[tuple[str, Document]]:
    """Returns every pod template, wherever it is."""
    for document in found:
        if document["kind"] == "Pod":
            yield called(document), document
        yield from ((f"{document['kind']} {called(document)}", pod) for pod in _templates(document))


def _templates(node: Any) -> Iterator[Document]:
    if isinstance(node, dict):
        if "containers" in node.get("spec", {}) and "kind" not in node:
            yield node
        for value in node.values():
            yield from _templates(value)
    elif isinstance(node, list):
        for value in node:
            yield from _templates(value)


def container(workload: Document) -> Document:
    first: Document = workload["spec"]["template"]["spec"]["containers"][0]
    return first


def environment(of: Document) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in of["env"]}


def refusal(*values: Values) -> str:
    """Returns the sentence of Helm's error."""
    with pytest.raises(Refused) as refused:
        rendered(HELMS[0], *values)
    return str(refused.value)
