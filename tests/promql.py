"""What queries ask for: the metrics that they name, and those that there are."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from faststream.kafka.prometheus import KafkaPrometheusMiddleware
from prometheus_client import CollectorRegistry
from promql_parser import Expr, MatrixSelector, VectorSelector

from services.runtime.instruments import schema

RULES = Path(__file__).parents[1] / "deploy" / "helm" / "soliloquy" / "files" / "rules"
# What the series of a metric have behind its name.
_ENDINGS = {"histogram": ["_bucket", "_sum", "_count"]}


def named(query: str) -> set[str]:
    """Raises ValueError for a query that cannot be parsed."""
    found: set[str] = set()

    def visit(node: Expr) -> None:
        selector = node.vector_selector if isinstance(node, MatrixSelector) else node
        if isinstance(selector, VectorSelector):
            assert selector.name, f"a series without a name in {query!r}"
            found.add(selector.name)

    promql_parser.walk(promql_parser.parse(query), visit)
    return found


def filled(query: str, *, rate: str = "1m", window: str = "1h", wanted: int = 1000) -> str:
    """As Grafana sends it, with everything chosen."""
    values = {"$__rate_interval": rate, "$__range": window, "$wanted": str(wanted), "$service": ".*"}
    for variable, value in values.items():
        query = query.replace(variable, value)
    return query


@cache
def exported() -> frozenset[str]:
    """Everything that a query may name."""
    ours = {name + ending for name, metric in schema().items() for ending in _ENDINGS.get(metric.type, [""])}
    return frozenset(ours | _of_faststream() | _of_ray() | {rule["record"] for rule in rules() if "record" in rule})


@cache
def ruled() -> frozenset[str]:
    """What the rules name."""
    return frozenset().union(*(named(rule["expr"]) for rule in rules()))


def rules() -> list[dict[str, Any]]:
    files = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(RULES.glob("*.yaml"))]
    return [rule for file in files for group in file["groups"] for rule in group["rules"]]


def _of_faststream() -> set[str]:
    registry = CollectorRegistry()
    KafkaPrometheusMiddleware(registry=registry)
    endings = {**_ENDINGS, "counter": ["_total"]}
    return {family.name + ending for family in registry.collect() for ending in endings.get(family.type, [""])}


def _of_ray() -> set[str]:
    """Its names stand in its source alone; nothing where it is not installed."""
    found = find_spec("ray")
    folders = found.submodule_search_locations if found else None
    sources = [
        path.read_text("utf-8") for folder in folders or () for path in Path(folder, "serve/_private").glob("*.py")
    ]
    words = {word for source in sources for word in source.split('"') if word.startswith("serve_")}
    return {f"ray_{word}{ending}" for word in words for ending in ["", "_total", *_ENDINGS["histogram"]]}
