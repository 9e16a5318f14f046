"""Checks what Prometheus and Grafana get: every target, and each file verbatim."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from deploy.dashboards.board import boards
from soliloquy.runtime.metrics import schema
from tests.cases import each_case
from tests.chart.render import CHART, Values
from tests.unit.chart.objects import REQUIRED, SERVED, TRAINED, kinds, named, objects, pods, refusal
from tests.unit.chart.test_network import selects
from tests.unit.deploy.queries import filled, ruled
from tests.unit.deploy.queries import named as rulebook_names
from tests.unit.rules import rulebook

WATCHED: Values = {
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True},
    "dashboards": {"enabled": True, "labels": {"grafana_dashboard": "1"}},
}


def foreign() -> dict[str, dict[str, list[str]]]:
    """Returns the metrics of others that we read, with their labels."""
    return tomllib.loads(Path(rulebook.__file__).with_name("foreign.toml").read_text("utf-8"))


def queries() -> Iterator[str]:
    for board in boards().values():
        for panels in board.row.values():
            yield from (filled(query) for panel in panels for query in panel.ask.values())


def test_every_pod_that_has_figures_is_scraped() -> None:
    found = objects(WATCHED, SERVED, TRAINED)
    monitors = [each["spec"] for each in kinds(found, "PodMonitor").values()]
    for place, pod in pods(found):
        offered = {port["name"] for each in pod["spec"]["containers"] for port in each.get("ports", ())}
        scraped = {
            endpoint["port"]
            for monitor in monitors
            if selects(monitor["selector"], pod["metadata"]["labels"])
            for endpoint in monitor["podMetricsEndpoints"]
        }
        assert offered & {"http", "metrics"} <= scraped, place
    assert {each["metadata"]["labels"]["release"] for each in kinds(found, "PodMonitor").values()} == {"prometheus"}


def test_alerts_know_a_target_whatever_the_release_is_called() -> None:
    [endpoint] = named(objects(WATCHED), "PodMonitor")["spec"]["podMetricsEndpoints"]
    job, release = endpoint["relabelings"]
    assert (job["targetLabel"], job["replacement"]) == ("job", "soliloquy-$1")
    assert release["targetLabel"] == "release"
    assert release["sourceLabels"] == ["__meta_kubernetes_pod_label_app_kubernetes_io_instance"]


def test_prometheus_keeps_of_ray_and_vllm_what_rules_and_dashboards_read_and_no_more() -> None:
    ray, serve = kinds(objects(WATCHED, SERVED), "PodMonitor")["model"]["spec"]["podMetricsEndpoints"]
    names = [name for group in foreign().values() for name in group]
    read = set().union(ruled(), *(rulebook_names(query) for query in queries()))
    for endpoint, prefix in ((ray, "ray_"), (serve, "vllm:")):
        [kept] = endpoint["metricRelabelings"]
        assert (kept["action"], kept["sourceLabels"]) == ("keep", ["__name__"])
        theirs = {name for name in names if name.startswith(prefix)}
        assert theirs == {name for name in read if name.startswith(prefix)}
        assert all(re.fullmatch(kept["regex"], name) for name in theirs)
        for part in kept["regex"].replace("soliloquy_.+|", "").split("|" + prefix):
            assert any(re.fullmatch(prefix + part.removeprefix(prefix), name) for name in theirs), part
    assert all(re.fullmatch(serve["metricRelabelings"][0]["regex"], name) for name in schema())


def rules_of(*values: Values) -> dict[str, Any]:
    return {name: each["spec"] for name, each in kinds(objects(WATCHED, *values), "PrometheusRule").items()}


def test_rules_and_dashboards_are_the_files_as_they_are_but_for_the_link_to_the_runbook() -> None:
    found = objects(WATCHED)
    for values, old, new in (
        ({}, "runbook_url: deploy/RUNBOOK.md#", "runbook: RUNBOOK.md#"),
        ({"prometheusRule": {"runbookUrl": "https://w.example/r"}}, "deploy/RUNBOOK.md#", "https://w.example/r#"),
    ):
        files = {path.stem: path.read_text("utf-8") for path in CHART.glob("files/rules/*.yaml")}
        assert all(old in text for text in files.values())
        assert rules_of(values) == {name: yaml.safe_load(text.replace(old, new)) for name, text in files.items()}
    boards = {f"dashboard-{path.stem}": path for path in CHART.glob("files/dashboards/*.json")}
    shown = {name: each for name, each in kinds(found, "ConfigMap").items() if name.startswith("dashboard-")}
    assert set(shown) == set(boards)
    for name, path in boards.items():
        assert json.loads(shown[name]["data"][path.name]) == json.loads(path.read_text("utf-8"))


def test_objectives_are_values() -> None:
    objectives = {
        "window": "28d",
        # As long as the turn's own default, which stays another.
        "conversationsInTime": {"target": 0.9, "seconds": 60},
        "turnsInTime": {"target": 0.99, "seconds": 0.5},
        "verdictsTrue": {"target": 0.999},
    }
    rules = rules_of({"prometheusRule": {"objectives": objectives}})["slo"]
    recorded = [rule for group in rules["groups"] for rule in group["rules"] if "record" in rule]
    targets = {rule["labels"]["slo"]: rule["expr"] for rule in recorded if rule["record"].endswith("target:ratio")}
    assert targets == {
        "conversations-in-time": "vector(0.9)",
        "turns-in-time": "vector(0.99)",
        "verdicts-true": "vector(0.999)",
    }
    limits = [re.findall(r'(\w+)_seconds_bucket{le="(.+)"}', rule["expr"]) for rule in recorded]
    assert [found for each in limits for found in each] == [
        ("soliloquy_conversation", "60.0"),
        ("soliloquy_turn", "0.5"),
    ]
    [budget] = [rule["expr"] for rule in recorded if rule["record"] == "soliloquy:slo_budget_left:ratio"]
    assert budget.count("[28d]") == 2
    assert "[30d]" not in budget


def test_a_limit_is_a_bound_of_the_histograms_that_it_is_of() -> None:
    allowed = json.loads((CHART / "values.schema.json").read_text("utf-8"))["definitions"]["latencyObjective"]
    bounds = allowed["properties"]["seconds"]["enum"]
    for name in ("soliloquy_conversation_seconds", "soliloquy_turn_seconds"):
        assert list(schema()[name].buckets) == bounds


@each_case
def test_an_object_whose_api_is_missing_is_refused_with_what_to_install(
    base: str | None, values: Values | None, api: str, remedy: str
) -> None:
    told = refusal(REQUIRED, values or {"served": SERVED, "trained": TRAINED}[base or ""])
    assert f"needs the API {api}, which this cluster has not: install {remedy} first" in told
