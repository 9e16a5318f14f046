"""Validates against Kubernetes' and the operators' definitions strictly, so that a misspelt field is found."""

import functools
import json
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from jsonschema.validators import Draft202012Validator
from referencing import Registry, Resource

from tests.chart import crds

Document = dict[str, Any]


class UnknownKind(Exception):
    """Neither Kubernetes nor an operator defines this object."""


def faults(document: Document, versions: Iterable[str]) -> list[str]:
    """Yields a line for each field that API servers of these versions refuse or drop."""
    kind = (document["apiVersion"], document["kind"])
    if kind in crds.schemas():
        return _faults(document, _custom(*kind))
    return [
        f"Kubernetes {version}: {fault}" for version in versions for fault in _faults(document, _own(version, *kind))
    ]


def _faults(document: Document, validator: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(document)]


@functools.cache
def _custom(version: str, kind: str) -> Any:
    return Draft202012Validator(crds.schemas()[version, kind])


@functools.cache
def _own(kubernetes: str, version: str, kind: str) -> Any:
    # kubernetes-validate reads its files again for every document.
    folder = resources.files("kubernetes_validate") / f"kubernetes-json-schema/v{kubernetes}.0-local-strict"
    group = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", version)
    file = folder / f"{kind.lower()}-{group}.json"
    if not file.is_file():
        raise UnknownKind(f"{version} {kind} is of no Kubernetes {kubernetes} and has no definition in tests/chart")
    schema = Resource.from_contents(json.loads(file.read_bytes()))
    return Draft202012Validator(schema.contents, registry=_definitions(str(folder)).with_resource("", schema))


@functools.cache
def _definitions(folder: str) -> Any:
    return Resource.from_contents(json.loads(Path(folder, "_definitions.json").read_bytes())) @ Registry()
