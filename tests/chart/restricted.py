"""Checks pods against Kubernetes' Pod Security Standards, level restricted; restricted.toml has the rules."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Spec = dict[str, Any]

_RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_KINDS = ("initContainers", "containers", "ephemeralContainers")


def pods(document: Any) -> Iterator[Spec]:
    """Returns the spec of every pod that a manifest of any kind describes."""
    if isinstance(document, dict):
        if isinstance(document.get("containers"), list):
            yield document
        else:
            for value in document.values():
                yield from pods(value)
    elif isinstance(document, list):
        for value in document:
            yield from pods(value)


def faults(pod: Spec) -> list[str]:
    """Yields a line for each violation that an enforcing admission controller refuses."""
    found = [
        f"{rule['control']}: {field} is {value!r}"
        for rule in _RULES["allowed"]
        for field in rule["fields"]
        for value in _values(pod, field)
        if not _is_allowed(value, rule)
    ]
    for rule in _RULES["required"]:
        said_for_all = bool(rule.get("pod")) and _says(pod, rule)
        found += [
            f"{rule['control']}: {container['name']} has no {rule['field']} of {' or '.join(map(str, rule['value']))}"
            for container in _containers(pod)
            if not _says(container, rule) and not said_for_all
        ]
    return found


def _is_allowed(value: Any, rule: dict[str, Any]) -> bool:
    if "keys" in rule:
        return set(value) <= set(rule["keys"])
    return bool(value > rule["above"] if "above" in rule else value in rule["values"])


def _says(part: Spec, rule: dict[str, Any]) -> bool:
    return any(value in rule["value"] for value in _values(part, rule["field"]))


def _containers(pod: Spec) -> list[Spec]:
    return [container for kind in _KINDS for container in pod.get(kind) or []]


def _values(part: Any, path: str) -> Iterator[Any]:
    """Returns the values at a path, of each item where the path crosses a list."""
    if isinstance(part, list):
        for item in part:
            yield from _values(item, path)
    elif not path:
        yield part
    elif isinstance(part, dict):
        first, _, rest = path.partition(".")
        below = _containers(part) if first == "containers" else part.get(first)
        if below is not None:
            yield from _values(below, rest)
