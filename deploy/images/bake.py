"""Reads docker-bake.json as far as it is used: variables, and targets that inherit from one another."""

import json
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("docker-bake.json")


@dataclass(frozen=True, kw_only=True)
class Target:
    """One image; the fields are those of a bake file."""

    context: str
    dockerfile: str
    target: str
    tags: list[str]
    platforms: list[str]
    args: dict[str, str] = field(default_factory=dict)


def targets(text: str, environment: Mapping[str, str]) -> dict[str, Target]:
    """Returns the images of the default group by name. As in bake, the environment overrides variables."""
    told = json.loads(text)
    variables = {name: environment.get(name, each["default"]) for name, each in told["variable"].items()}
    names = told["group"]["default"]["targets"]
    return {name: Target(**_filled(_merged(told["target"], name), variables)) for name in names}


def _merged(described: dict[str, Any], name: str) -> dict[str, Any]:
    own = dict(described[name])
    merged: dict[str, Any] = {}
    for parent in own.pop("inherits", []):
        merged |= _merged(described, parent)
    return merged | own | {"args": merged.get("args", {}) | own.get("args", {})}


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return string.Template(value).substitute(variables)
    if isinstance(value, list):
        return [_filled(each, variables) for each in value]
    return {key: _filled(each, variables) for key, each in value.items()}
