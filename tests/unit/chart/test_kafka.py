"""Checks how pods reach Kafka: an existing one with its Secrets, or one that Strimzi creates."""

import pytest

from deploy import topics_file
from soliloquy.runtime.topics import shapes
from tests.chart.render import Document, Values
from tests.unit.chart.objects import TRAINED, container, environment, kinds, named, objects, pods, services

STRIMZI: Values = {
    "kafka": {"bootstrap": "", "prefix": "a_B."},
    "strimzi": {"kafka": {"enabled": True}, "topics": {"enabled": True}, "user": {"enabled": True}},
}
TLS: Values = {"enabled": True, "ca": {"existingSecret": "authority"}, "client": {"existingSecret": "client"}}
SASL: Values = {"enabled": True, "existingSecret": "user", "username": "grower"}


def files(pod: Document) -> dict[str, str]:
    """Returns the mounted keys of each Secret, by file name."""
    [volume] = [each for each in pod["spec"]["volumes"] if each["name"] == "kafka"]
    sources = [source["secret"] for source in volume["projected"]["sources"]]
    return {item["path"]: f"{source['name']}/{item['key']}" for source in sources for item in source["items"]}


@pytest.mark.parametrize(
    ("kafka", "security", "mounted"),
    [
        ({"tls": {"enabled": True}}, "SSL", set()),
        ({"tls": TLS}, "SSL", {"ca.crt", "client.crt", "client.key"}),
        ({"sasl": SASL}, "SASL_PLAINTEXT", {"password"}),
        ({"tls": TLS, "sasl": SASL}, "SASL_SSL", {"ca.crt", "client.crt", "client.key", "password"}),
    ],
)
def test_what_is_secret_stays_in_its_secret(kafka: Values, security: str, mounted: set[str]) -> None:
    found = objects({"kafka": kafka}, TRAINED)
    assert not kinds(found, "Secret")
    for _, pod in pods(found):
        for each in pod["spec"]["containers"]:
            env = environment(each)
            assert env["SOLILOQUY_KAFKA_SECURITY"] == security
            named_files = {value for name, value in env.items() if name.endswith("_FILE")}
            assert named_files == {f"/etc/soliloquy/kafka/{name}" for name in mounted}
        if mounted:
            assert set(files(pod)) == mounted


def test_a_user_may_be_in_the_secret_beside_the_password() -> None:
    student = services(objects({"kafka": {"sasl": {**SASL, "username": "", "usernameKey": "name"}}}))["student"]
    user = environment(container(student))["SOLILOQUY_KAFKA_USERNAME"]
    assert user == {"secretKeyRef": {"name": "user", "key": "name"}}
    assert files(student["spec"]["template"]) == {"password": "user/password"}


def test_the_topics_are_laid_out_before_the_services_start_and_before_each_upgrade() -> None:
    job = named(objects({"topics": {"replication": 1}, "priorityClass": {"enabled": True}}), "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert container(job)["args"] == ["topics", "apply", "--replication=1"]
    # Nothing of the release exists yet.
    pod = job["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], "priorityClassName" in pod) == ("default", False)
    assert [list(volume) for volume in pod["volumes"]] == [["name", "emptyDir"]]


def test_the_topics_job_reaches_kafka_where_the_namespace_denies_what_nobody_allows() -> None:
    policy = kinds(objects(), "NetworkPolicy")["topics"]
    # Before the Job, and gone with it; the release's own policies cover the rest.
    assert policy["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert int(policy["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0
    ports = {each["port"] for rule in policy["spec"]["egress"] for each in rule["ports"]}
    assert ports == {53, 9092, 9093}
    assert "topics" not in kinds(objects({"networkPolicy": {"enabled": False}}), "NetworkPolicy")


def test_the_file_of_topics_is_that_of_the_services() -> None:
    assert topics_file.FILE.read_text("utf-8") == topics_file.text(), "python -m deploy.topics_file writes it"


@pytest.mark.parametrize(("copies", "in_sync"), [(0, "2"), (1, "1"), (2, "2")])
def test_strimzi_has_every_topic_as_the_services_want_it(copies: int, in_sync: str) -> None:
    found = kinds(objects(STRIMZI, {"topics": {"replication": copies}}), "KafkaTopic")
    wanted = {shape.topic: shape for shape in shapes(copies or None)}
    assert set(found) == set(wanted)
    for name, shape in wanted.items():
        spec = found[name]["spec"]
        assert spec["topicName"] == f"a_B.{name}"
        assert (spec["partitions"], spec["replicas"]) == (shape.partitions, shape.replication)
        assert spec["config"] == shape.configs
        assert spec["config"]["min.insync.replicas"] == in_sync


def test_a_kafka_of_the_release_is_reached_by_the_certificate_of_its_user() -> None:
    found = objects(STRIMZI)
    assert not [each for each in found if each["kind"] == "Job"]
    for name, workload in services(found).items():
        env = environment(container(workload))
        assert env["SOLILOQUY_KAFKA"] == "lab-soliloquy-kafka-bootstrap.tutoring.svc:9093", name
        assert env["SOLILOQUY_KAFKA_SECURITY"] == "SSL"
        assert files(workload["spec"]["template"]) == {
            "ca.crt": "lab-soliloquy-cluster-ca-cert/ca.crt",
            "client.crt": "lab-soliloquy/user.crt",
            "client.key": "lab-soliloquy/user.key",
        }
    user = named(found, "KafkaUser")["spec"]
    resources = [acl["resource"] for acl in user["authorization"]["acls"]]
    assert [each.get("name") for each in resources] == ["a_B.", "a_B.", None]
    assert {each.get("patternType") for each in resources} == {"prefix", None}
    [listener] = named(found, "Kafka")["spec"]["kafka"]["listeners"]
    assert (listener["port"], listener["tls"], listener["authentication"]) == (9093, True, {"type": "tls"})


def test_what_holds_events_stays_when_the_release_goes() -> None:
    kept = [each for each in objects(STRIMZI) if each["kind"] in ("Kafka", "KafkaNodePool", "KafkaTopic")]
    assert {each["metadata"]["annotations"]["helm.sh/resource-policy"] for each in kept} == {"keep"}
    assert len(kept) == len(shapes()) + 2
