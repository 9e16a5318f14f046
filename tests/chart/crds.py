"""Reads the definitions of the custom resources that the chart may render, and derives strict schemas."""

import functools
from pathlib import Path
from typing import Any

import yaml

from tests.chart import tools, typescript

Definition = dict[str, Any]
Schema = dict[str, Any]

_STRIMZI = "kafka.strimzi.io"


@functools.cache
def definitions() -> list[Definition]:
    """Returns the definitions as an API server installs them."""
    files = sorted((tools.folder() / "crds").iterdir())
    return [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files] + _strimzi(tools.folder() / "types")


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


def _strimzi(types: Path) -> list[Definition]:
    """Returns the versions, stored one first."""
    return [_strimzi_definition(types, file.name.removesuffix(".d.ts")) for file in sorted(types.glob("v1/*.d.ts"))]


def _strimzi_definition(types: Path, kind: str) -> Definition:
    versions: list[dict[str, Any]] = [
        {
            "name": version,
            "served": True,
            "storage": version == "v1",
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": typescript.interface((types / version / f"{kind}.d.ts").read_text("utf-8"))},
        }
        for version in ("v1", "v1beta2")
    ]
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{_STRIMZI}"},
        "spec": {"group": _STRIMZI, "scope": "Namespaced", "names": names, "versions": versions},
    }
