"""Checks which connections the policies allow, as Kubernetes reads them: everything else is denied."""

from typing import Any

import pytest

from soliloquy.runs.assignment import SERVICES
from tests.chart.render import Document, Values
from tests.unit.chart.objects import PUBLIC, RETRAINED, SERVED, TRAINED, kinds, objects, pods

EVERYTHING: list[Values] = [
    SERVED,
    TRAINED,
    {
        "dataset": {"store": "s3://bucket/datasets"},
        "networkPolicy": {"extraEgress": [{"ports": [{"port": 4318}]}]},
    },
]


def selects(selector: Document, labels: dict[str, str]) -> bool:
    operators = {"In": lambda value, values: value in values, "NotIn": lambda value, values: value not in values}
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        operators[each["operator"]](labels.get(each["key"]), each["values"])
        for each in selector.get("matchExpressions", ())
    )


def rules(found: list[Document], component: str, way: str) -> list[Document]:
    """Returns what the pods of a component may do in one direction; without a rule, that direction is denied."""
    [labels] = {
        tuple(sorted(pod["metadata"]["labels"].items()))
        for _, pod in pods(found)
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] == component
    }
    policies = [
        each["spec"]
        for each in kinds(found, "NetworkPolicy").values()
        if selects(each["spec"]["podSelector"], dict(labels)) and way.title() in each["spec"]["policyTypes"]
    ]
    assert policies
    return [rule for policy in policies for rule in policy.get(way, ())]


def ports(rule: Document) -> set[int]:
    return {each["port"] for each in rule.get("ports", ())}


def test_the_executor_reaches_kafka_and_the_resolver_of_names_and_nothing_else() -> None:
    out = rules(objects(*EVERYTHING), "executor", "egress")
    resolver, kafka = sorted(out, key=lambda rule: min(ports(rule)))
    assert ports(resolver) == {53}
    assert resolver["to"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}]
    assert ports(kafka) == {9092, 9093}


def test_kafka_may_be_named_so_that_nothing_else_is_reached_on_its_ports() -> None:
    brokers = [{"ipBlock": {"cidr": "10.1.0.0/24"}}]
    out = rules(objects({"networkPolicy": {"kafka": brokers, "kafkaPorts": [9192]}}), "executor", "egress")
    [kafka] = [rule for rule in out if 53 not in ports(rule)]
    assert (kafka["to"], ports(kafka)) == (brokers, {9092, 9093, 9192})


def test_nobody_reaches_a_service_but_who_scrapes_it() -> None:
    found = objects(*EVERYTHING)
    unwatched = objects(*EVERYTHING, {"networkPolicy": {"scrapers": []}})
    for name in {*SERVICES, "gateway"} - {"executor"}:
        [rule] = rules(found, name, "ingress")
        assert ports(rule) == {9090}
        assert rule["from"] == [
            {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}}
        ]
        assert rules(unwatched, name, "ingress") == []


def test_the_gateway_alone_has_the_executor_run_programs() -> None:
    [rule] = [rule for rule in rules(objects(*EVERYTHING), "executor", "ingress") if 9090 not in ports(rule)]
    [asker] = rule["from"]
    assert (ports(rule), asker["podSelector"]["matchLabels"]["app.kubernetes.io/component"]) == ({50051}, "gateway")
    without = objects({"services": {"gateway": {"enabled": False}}})
    assert set().union(*map(ports, rules(without, "executor", "ingress"))) == {9090}


def test_the_gateway_reaches_the_apis_that_a_chat_may_ask_and_no_service_does() -> None:
    peers = [{"ipBlock": {"cidr": "10.2.0.0/24"}}]
    urls = ["https://api.example.com/v1", "http://model.lab:8000/v1"]
    chats: Values = {"gateway": {"chatEndpoints": urls}, "networkPolicy": {"model": peers}}
    [asked] = [rule for rule in rules(objects(chats), "gateway", "egress") if rule.get("to") == peers]
    assert ports(asked) == {443, 8000}
    assert not any(rule.get("to") == peers for rule in rules(objects(chats), "tutor", "egress"))


@pytest.mark.parametrize(("host", "port"), [("db.lab", 5432), ("db.lab:6432", 6432)])
def test_the_gateway_alone_reaches_its_database(host: str, port: int) -> None:
    database = {"gateway": {"database": {"url": f"postgresql://soliloquy@{host}/gateway"}}}
    reached = {
        name: {each for rule in rules(objects(database), name, "egress") for each in ports(rule)}
        for name in ("gateway", "collector")
    }
    assert port in reached["gateway"]
    assert port not in reached["collector"]


def test_the_gateway_is_reached_by_the_ingress_and_only_where_it_asks_for_tokens() -> None:
    asked = {
        rule["from"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/name"]: ports(rule)
        for rule in rules(objects(*EVERYTHING, PUBLIC), "gateway", "ingress")
    }
    assert asked == {"prometheus": {9090}, "ingress-nginx": {8080, 8081}}
    named = objects(PUBLIC, {"networkPolicy": {"gatewayClients": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}})
    [rule] = [rule for rule in rules(named, "gateway", "ingress") if 8080 in ports(rule)]
    assert rule["from"] == [{"ipBlock": {"cidr": "10.0.0.0/8"}}]


def test_no_rule_lets_in_whoever_comes() -> None:
    """Treats an empty or missing list of peers as everybody."""
    for policy in kinds(objects(*EVERYTHING), "NetworkPolicy").values():
        assert all(rule["from"] for rule in policy["spec"].get("ingress", ()))


@pytest.mark.parametrize("component", ["topics", "test"])
def test_what_runs_once_is_reached_by_nobody(component: str) -> None:
    assert rules(objects(*EVERYTHING), component, "ingress") == []


def model_ports(*values: Values) -> set[int]:
    out = rules(objects(*values), "student", "egress")
    return set().union(*(ports(rule) for rule in out)) - {53, 9092, 9093}


@pytest.mark.parametrize(
    ("model", "reached"),
    [
        ({"engine": "scripted"}, set()),
        ({"engine": "openai", "baseUrl": "https://api.example.com/v1"}, {443}),
        ({"engine": "openai", "baseUrl": "http://vllm.models:8000/v1"}, {8000}),
        ({"engine": "ray", "address": "model.example:9001"}, {9001}),
    ],
)
def test_who_asks_a_model_reaches_where_it_answers(model: dict[str, Any], reached: set[int]) -> None:
    assert model_ports({"model": model}) == reached


def test_only_who_asks_reaches_the_model_service_and_only_kuberay_its_dashboard() -> None:
    found = objects(*EVERYTHING)
    assert model_ports(*EVERYTHING) == {9000, 4318}
    coming = rules(found, "model", "ingress")
    [asking] = [rule for rule in coming if 9000 in ports(rule)]
    [asker] = asking["from"]
    for name in (*SERVICES, "gateway"):
        labels = {
            "app.kubernetes.io/name": "soliloquy",
            "app.kubernetes.io/instance": "lab",
            "app.kubernetes.io/component": name,
        }
        assert selects(asker["podSelector"], labels) == (name not in ("curriculum", "executor", "collector"))
    [operator] = [rule["from"] for rule in coming if 8265 in ports(rule)]
    [peer] = operator
    assert peer["podSelector"] == {"matchLabels": {"app.kubernetes.io/name": "kuberay-operator"}}


def test_a_store_is_reached_by_who_writes_and_who_reads_there() -> None:
    found = objects(*EVERYTHING)
    every = (*SERVICES, "gateway")
    reaching = {name for name in every if 443 in set().union(*map(ports, rules(found, name, "egress")))}
    assert reaching == {"collector", "gateway"}
    registry = objects({"gateway": {"adapters": {"registry": "s3://bucket/adapters"}}})
    assert 443 in set().union(*map(ports, rules(registry, "gateway", "egress")))


def test_traces_leave_by_a_policy_of_their_own() -> None:
    found = objects(SERVED, {"traces": {"url": "http://tempo:4318"}})
    asked = {"model", "gateway", *SERVICES}
    sending = {name for name in asked if 4318 in set().union(*map(ports, rules(found, name, "egress")))}
    assert sending == asked - {"executor"}


def test_retraining_reaches_the_model_service() -> None:
    found = objects(RETRAINED)
    assert 9000 in set().union(*map(ports, rules(found, "retraining", "egress")))
    [asking] = [rule for rule in rules(found, "model", "ingress") if 9000 in ports(rule)]
    assert "retraining" in asking["from"][0]["podSelector"]["matchExpressions"][0]["values"]
