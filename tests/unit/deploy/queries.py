"""Expands panel queries as Grafana sends them, and lists what they may name."""

import tomllib
from functools import cache
from pathlib import Path

from faststream.kafka.prometheus import KafkaPrometheusMiddleware
from prometheus_client import CollectorRegistry

from soliloquy.runtime.metrics import schema
from tests.unit.rules import rulebook

# Suffixes of a metric's series.
_ENDINGS = {"histogram": ["_bucket", "_sum", "_count"]}


def filled(query: str, *, rate: str = "1m", window: str = "1h") -> str:
    """Expands a query with everything selected."""
    values = {"$__rate_interval": rate, "$__range": window, "$gpu_hour_price": "2"}
    values |= dict.fromkeys(("$cluster", "$namespace", "$release", "$service"), ".*")
    for variable, value in values.items():
        query = query.replace(variable, value)
    return query


def named(query: str) -> set[str]:
    return {each.metric or "" for each in rulebook.named(query)}


@cache
def exported() -> frozenset[str]:
    """Returns every name that a query may use."""
    ours = {name + ending for name, metric in schema().items() for ending in _ENDINGS.get(metric.type, [""])}
    recorded = {rule["record"] for rule in rulebook.rules() if "record" in rule}
    return frozenset(ours | recorded | _of_faststream() | _of_others())


@cache
def ruled() -> frozenset[str]:
    """Returns every name that the rules use."""
    return frozenset().union(*(named(rule["expr"]) for rule in rulebook.rules()))


def _of_faststream() -> set[str]:
    registry = CollectorRegistry()
    KafkaPrometheusMiddleware(registry=registry)
    endings = {**_ENDINGS, "counter": ["_total"]}
    return {family.name + ending for family in registry.collect() for ending in endings.get(family.type, [""])}


def _of_others() -> set[str]:
    groups = tomllib.loads(Path(rulebook.__file__).with_name("foreign.toml").read_text("utf-8"))
    return {name for group in groups.values() for name in group}
