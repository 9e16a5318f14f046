"""Exports match the schema, and Prometheus accepts them."""

import importlib
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client import REGISTRY, Metric, generate_latest

import soliloquy
from soliloquy.runtime.metrics import counter, gauge, schema

ROOT = Path(soliloquy.__file__ or "").parents[1]


@pytest.fixture(scope="module")
def exported() -> dict[str, Metric]:
    """Returns our metrics by the names that Prometheus sees."""
    for package in ("soliloquy", "soliloquy_services", "soliloquy_training"):
        for path in (ROOT / package).rglob("*.py"):
            if "soliloquy.runtime.metrics import" in path.read_text("utf-8"):
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    ours = (metric for metric in REGISTRY.collect() if metric.name.startswith("soliloquy_"))
    return {metric.name + "_total" * (metric.type == "counter"): metric for metric in ours}


def test_every_metric_of_the_schema_has_an_instrument_and_the_other_way_round(exported: dict[str, Metric]) -> None:
    assert {name: (metric.type, metric.documentation) for name, metric in exported.items()} == {
        name: (metric.type, metric.help) for name, metric in schema().items()
    }


def test_what_the_schema_does_not_have_cannot_be_exported() -> None:
    with pytest.raises(LookupError, match="has no counter 'soliloquy_nothing_total': describe it there first"):
        counter("soliloquy_nothing_total")
    with pytest.raises(LookupError, match="has no gauge 'soliloquy_events_received_total'"):
        gauge("soliloquy_events_received_total")


@pytest.mark.parametrize("name", schema())
def test_names_are_in_base_units_and_labels_are_bounded(name: str) -> None:
    metric = schema()[name]
    assert name.endswith("_total") == (metric.type == "counter")
    assert not name.endswith(("_ms", "_milliseconds", "_minutes", "_mb", "_percent"))
    # Of runs, the gateway exports the latest only: tests/unit/gateway/test_run_metrics.py.
    by_run = {"run"} if name.startswith("soliloquy_run_") else set()
    assert not set(metric.labels) & {"id", "run", "conversation", "key", "ordinal", "text"} - by_run
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert bool(metric.buckets) == (metric.type == "histogram")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing: apt-get install prometheus")
def test_promtool_has_nothing_to_say_against_the_names(exported: dict[str, Metric]) -> None:
    asked = subprocess.run(
        ["promtool", "check", "metrics"], input=generate_latest(), capture_output=True, check=False, timeout=60
    )
    ours = [line for line in asked.stdout.decode().splitlines() if line.startswith("soliloquy_")]
    assert (ours, asked.stderr) == ([], b"")
