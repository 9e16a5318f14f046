"""Reads the shipped rules and the names that their expressions use."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser
import yaml

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "helm" / "soliloquy" / "files" / "rules"
FILES = sorted(FOLDER.glob("*.yaml"))


@functools.cache
def content(file: Path) -> dict[str, Any]:
    """Reads the files once, since many tests use them."""
    read: dict[str, Any] = yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)
    return read


def rules() -> list[dict[str, Any]]:
    groups = [group for file in FILES for group in content(file)["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


@dataclass(kw_only=True)
class Named:
    """A metric that an expression selects, with the labels that it selects by."""

    metric: str | None
    labels: set[str]


def named(expression: str) -> Iterator[Named]:
    found: list[Named] = []

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(Named(metric=node.name, labels={matcher.name for matcher in node.matchers.matchers}))

    promql_parser.walk(promql_parser.parse(expression), visit)
    yield from found
