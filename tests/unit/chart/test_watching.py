"""Checks what Prometheus and Grafana get: every target, and each file verbatim."""

import json

import pytest
import yaml

from tests.chart.render import CHART, Values
from tests.unit.chart.objects import REQUIRED, SERVED, TRAINED, kinds, named, objects, pods, refusal
from tests.unit.chart.test_network import selects

WATCHED: Values = {
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True},
    "dashboards": {"enabled": True, "labels": {"grafana_dashboard": "1"}},
}


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
    [relabelling] = endpoint["relabelings"]
    assert relabelling["targetLabel"] == "job"
    assert relabelling["replacement"] == "soliloquy-$1"


def test_rules_and_dashboards_are_the_files_as_they_are() -> None:
    found = objects(WATCHED)
    rules = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in CHART.glob("files/rules/*.yaml")}
    assert {name: each["spec"] for name, each in kinds(found, "PrometheusRule").items()} == rules
    boards = {f"dashboard-{path.stem}": path for path in CHART.glob("files/dashboards/*.json")}
    shown = {name: each for name, each in kinds(found, "ConfigMap").items() if name.startswith("dashboard-")}
    assert set(shown) == set(boards)
    for name, path in boards.items():
        assert json.loads(shown[name]["data"][path.name]) == json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("values", "api", "remedy"),
    [
        ({"podMonitor": {"enabled": True}}, "monitoring.coreos.com/v1/PodMonitor", "the Prometheus operator"),
        ({"prometheusRule": {"enabled": True}}, "monitoring.coreos.com/v1/PrometheusRule", "the Prometheus operator"),
        ({"keda": {"enabled": True}}, "keda.sh/v1alpha1/ScaledObject", "KEDA"),
        (SERVED, "ray.io/v1/RayService", "KubeRay"),
        (TRAINED, "ray.io/v1/RayJob", "KubeRay"),
        ({"strimzi": {"topics": {"enabled": True, "cluster": "data"}}}, "kafka.strimzi.io/v1/KafkaTopic", "Strimzi"),
        (
            {"strimzi": {"apiVersion": "v1beta2", "user": {"enabled": True}, "topics": {"cluster": "data"}}},
            "kafka.strimzi.io/v1beta2/KafkaUser",
            "Strimzi",
        ),
    ],
)
def test_an_object_whose_api_is_missing_is_refused_with_what_to_install(values: Values, api: str, remedy: str) -> None:
    told = refusal(REQUIRED, values)
    assert f"needs the API {api}, which this cluster has not: install {remedy} first" in told
