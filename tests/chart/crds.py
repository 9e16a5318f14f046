"""Reads the definitions of the custom resources that the chart may render, and derives strict schemas."""

import functools
from typing import Any

import yaml

from tests.chart import tools

Definition = dict[str, Any]
Schema = dict[str, Any]


@functools.cache
def definitions() -> list[Definition]:
    """Returns the definitions as an API server installs them."""
    files = sorted((tools.folder() / "crds").iterdir())
    return [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files]


@functools.cache
def schemas() -> dict[tuple[str, str], Schema]:
    """Returns schemas by apiVersion and kind, for served versions; they allow no unknown field."""
    return {
        (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"]): _resource(
            version["schema"]["openAPIV3Schema"]
        )
        for crd in definitions()
        for version in crd["spec"]["versions"]
        if version["served"]
    }


def strict(schema: Schema) -> Schema:
    """Forbids unknown fields, which JSON Schema allows and an API server drops or refuses."""
    told = dict(schema)
    if "properties" in told:
        told["properties"] = {name: strict(each) for name, each in told["properties"].items()}
        if not told.get("x-kubernetes-preserve-unknown-fields"):
            told.setdefault("additionalProperties", False)
    if isinstance(told.get("additionalProperties"), dict):
        told["additionalProperties"] = strict(told["additionalProperties"])
    if "items" in told:
        told["items"] = strict(told["items"])
    if told.get("x-kubernetes-int-or-string"):
        told["type"] = ["integer", "string"]
    if told.get("nullable"):
        told["type"] = [told["type"], "null"]
    return told


def _resource(schema: Schema) -> Schema:
    """Adds the fields that every resource has, even if its definition omits them."""
    own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return strict(schema | {"properties": schema["properties"] | own})
