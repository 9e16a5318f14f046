"""Checks scaling: pods follow the work, never to zero, and one leaves at a time."""

from typing import Any

import pytest

from soliloquy.runs.assignment import SERVICES
from tests.chart.render import Values
from tests.unit.chart.objects import container, kinds, objects, services

SHARE = set(SERVICES) - {"curriculum", "collector"}
SASL: Values = {"enabled": True, "existingSecret": "user", "usernameKey": "name"}


@pytest.mark.parametrize(("by", "kind"), [("hpa", "HorizontalPodAutoscaler"), ("keda", "ScaledObject")])
def test_a_scaled_service_has_no_number_of_its_own_and_never_none(by: str, kind: str) -> None:
    found = objects({by: {"enabled": True}, "defaults": {"scaling": {"min": 2, "max": 9}}})
    scalers = kinds(found, kind)
    assert set(scalers) == SHARE
    for name, workload in services(found).items():
        assert ("replicas" in workload["spec"]) == (name not in SHARE)
        if scaler := scalers.get(name):
            spec = scaler["spec"]
            bounds = (spec.get("minReplicas"), spec.get("minReplicaCount"), spec.get("maxReplicas"))
            assert {bound for bound in bounds if bound is not None} <= {2, 9}
            assert spec["scaleTargetRef"]["name"] == workload["metadata"]["name"]


def test_who_names_the_surge_alone_loses_no_pod_in_an_upgrade() -> None:
    found = services(objects({"services": {"tutor": {"rollingUpdate": {"maxSurge": "50%"}}}}))
    assert found["tutor"]["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": "50%"}


def triggers(*values: Values) -> dict[str, list[dict[str, Any]]]:
    found = kinds(objects({"keda": {"enabled": True}}, *values), "ScaledObject")
    return {name: each["spec"]["triggers"] for name, each in found.items()}


def test_lag_is_looked_up_by_the_groups_and_topics_of_the_services() -> None:
    found = triggers({"kafka": {"prefix": "a."}})
    codegen = [each["metadata"] for each in found["codegen"]]
    assert [each["topic"] for each in codegen] == ["a.calculation.needed", "a.code.failed", "a.programs.needed"]
    assert {each["consumerGroup"] for each in codegen} == {"a.codegen"}
    assert {each["bootstrapServers"] for each in codegen} == {"kafka-0.data:9092,kafka-1.data:9093"}
    assert {each["offsetResetPolicy"] for each in codegen} == {"earliest"}


def test_keda_reads_the_secrets_that_the_services_read() -> None:
    kafka: Values = {"kafka": {"tls": {"enabled": True, "ca": {"existingSecret": "authority"}}, "sasl": SASL}}
    [trigger] = triggers(kafka)["tutor"]
    assert (trigger["metadata"]["sasl"], trigger["metadata"]["tls"]) == ("scram_sha512", "enable")
    read = kinds(objects(kafka, {"keda": {"enabled": True}}), "TriggerAuthentication")
    assert trigger["authenticationRef"]["name"] == "lab-soliloquy-kafka"
    assert {(ref["parameter"], ref["name"], ref["key"]) for ref in read["kafka"]["spec"]["secretTargetRef"]} == {
        ("username", "user", "name"),
        ("password", "user", "password"),
        ("ca", "authority", "ca.crt"),
    }


def test_lag_may_be_asked_of_prometheus() -> None:
    address = "http://prometheus.monitoring:9090"
    found = triggers({"keda": {"trigger": "prometheus", "prometheusAddress": address}})
    assert [each["type"] for each in found["student"]] == ["prometheus"]
    assert (
        found["student"][0]["metadata"]["query"]
        == 'sum(soliloquy_lag_events{namespace="tutoring",service="student",topic!="turn.held"})'
    )


def test_a_drain_takes_one_pod_of_a_service_at_a_time() -> None:
    found = objects()
    budgets = kinds(found, "PodDisruptionBudget")
    assert set(budgets) == {*SERVICES, "gateway"}
    for name, workload in services(found).items():
        assert budgets[name]["spec"]["maxUnavailable"] == 1
        assert budgets[name]["spec"]["selector"] == workload["spec"]["selector"]


def test_the_executor_has_as_many_sandboxes_as_it_is_told() -> None:
    executor = services(objects({"sandbox": {"sandboxes": 3, "wall": "1s", "memory": "256MiB"}}))["executor"]
    assert {"--sandboxes=3", "--wall=1s", "--memory=256MiB"} <= set(container(executor)["args"])


TABLES: Values = {"dataset": {"store": "iceberg:prod/tutoring", "existingSecret": "catalog"}}


def test_collectors_of_tables_scale_with_their_backlog_and_keep_nothing() -> None:
    found = objects(TABLES, {"keda": {"enabled": True}, "services": {"collector": {"scaling": {"max": 4}}}})
    collector = services(found)["collector"]
    assert collector["kind"] == "Deployment"
    assert container(collector)["args"][-3:-1] == ["--store=iceberg:prod/tutoring", "--shard-rows=10000"]
    assert "data" not in {volume["name"] for volume in collector["spec"]["template"]["spec"]["volumes"]}
    assert container(collector)["envFrom"] == [{"secretRef": {"name": "catalog"}}]
    scaler = kinds(found, "ScaledObject")["collector"]["spec"]
    assert scaler["scaleTargetRef"]["name"] == collector["metadata"]["name"]
    assert scaler["maxReplicaCount"] == 4
    assert [trigger["metadata"]["topic"] for trigger in scaler["triggers"]] == ["conversation.finished"]


def test_tables_are_compacted_with_the_catalog_of_their_collectors() -> None:
    [job] = kinds(objects(TABLES), "CronJob").values()
    [made] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert made["args"] == ["compact", "iceberg:prod/tutoring", "--keep=10m"]
    assert made["envFrom"] == [{"secretRef": {"name": "catalog"}}]
    assert not kinds(objects({}), "CronJob")


def test_two_collectors_are_for_tables_only() -> None:
    two: Values = {"services": {"collector": {"replicas": 2}}}
    assert services(objects(TABLES, two))["collector"]["spec"]["replicas"] == 2
