"""Checks how pods reach Kafka: an existing one with its Secrets, or one that Strimzi creates."""

import pytest

from deploy import access_file, topics_file
from soliloquy.runtime.topics import shapes
from tests.cases import each_case
from tests.chart.render import Document, Values
from tests.unit.chart.objects import TRAINED, TRIED, container, environment, kinds, named, objects, pods, services
from tests.unit.chart.test_network import ports, rules

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


@each_case
def test_a_token_is_a_file_that_is_renewed(token: Values, source: Document) -> None:
    sasl = {"enabled": True, "mechanism": "OAUTHBEARER", "token": token}
    for _, pod in pods(objects({"kafka": {"tls": {"enabled": True}, "sasl": sasl}}, TRAINED)):
        [volume] = [each for each in pod["spec"]["volumes"] if each["name"] == "kafka"]
        assert volume["projected"]["sources"] == [source]
        for each in pod["spec"]["containers"]:
            env = {name: value for name, value in environment(each).items() if name.startswith("SOLILOQUY_KAFKA_")}
            assert env["SOLILOQUY_KAFKA_TOKEN_FILE"] == "/etc/soliloquy/kafka/token"
            assert "SOLILOQUY_KAFKA_USERNAME" not in env


def test_an_authority_gets_the_user_and_the_password_and_every_pod_reaches_it() -> None:
    token = {"url": "https://login.example.com:8443/token", "scope": "kafka/.default"}
    found = objects({"kafka": {"sasl": SASL | {"mechanism": "OAUTHBEARER", "token": token}}})
    for name, workload in services(found).items():
        env = environment(container(workload))
        assert env["SOLILOQUY_KAFKA_TOKEN_URL"] == token["url"]
        assert env["SOLILOQUY_KAFKA_TOKEN_SCOPE"] == token["scope"]
        assert env["SOLILOQUY_KAFKA_USERNAME"] == "grower"
        assert files(workload["spec"]["template"]) == {"password": "user/password"}, name
    for policy in ("topics", "executor", "student"):
        reached = set().union(*map(ports, rules(found, policy, "egress")))
        assert 8443 in reached, policy


def test_the_topics_are_laid_out_before_the_services_start_and_before_each_upgrade() -> None:
    job = named(objects({"topics": {"replication": 1}, "priorityClass": {"enabled": True}}), "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert container(job)["args"] == ["topics", "apply", "--replication=1", "--partitions=96"]
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


def test_a_broker_of_the_release_is_reached_by_its_pods_alone_and_gets_its_topics_beside_them() -> None:
    found = objects(TRIED)
    for name, workload in services(found).items():
        if name != "kafka":
            assert environment(container(workload))["SOLILOQUY_KAFKA"] == "lab-soliloquy-kafka.tutoring.svc:9092"
    [client] = named(found, "Service", "kafka")["spec"]["ports"]
    assert client["port"] == 9092
    job = named(found, "Job")
    assert "annotations" not in job["metadata"]
    assert container(job)["args"] == ["topics", "apply", "--replication=1", "--partitions=96"]
    [incoming] = kinds(found, "NetworkPolicy")["broker"]["spec"]["ingress"]
    assert incoming["from"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/instance": "lab"}}}]
    [kafka] = [rule for rule in rules(found, "executor", "egress") if 53 not in ports(rule)]
    assert kafka["to"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "kafka"


def test_topics_of_another_layout_are_another_job() -> None:
    names = {named(objects(TRIED, {"topics": {"partitions": n}}), "Job")["metadata"]["name"] for n in (12, 24, 24)}
    assert len(names) == 2


def test_the_file_of_topics_is_that_of_the_services() -> None:
    assert topics_file.FILE.read_text("utf-8") == topics_file.text(), "python -m deploy.topics_file writes it"


@pytest.mark.parametrize(("copies", "in_sync"), [(0, "2"), (1, "1"), (2, "2")])
def test_strimzi_has_every_topic_as_the_services_want_it(copies: int, in_sync: str) -> None:
    found = kinds(objects(STRIMZI, {"topics": {"replication": copies}}), "KafkaTopic")
    wanted = {shape.topic: shape for shape in shapes(copies or None, partitions=96)}
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
            "client.crt": f"lab-soliloquy-{name}/user.crt",
            "client.key": f"lab-soliloquy-{name}/user.key",
        }
    assert set(kinds(found, "KafkaUser")) == {*services(found), "test"}
    [listener] = named(found, "Kafka")["spec"]["kafka"]["listeners"]
    assert (listener["port"], listener["tls"], listener["authentication"]) == (9093, True, {"type": "tls"})


def test_each_user_may_do_what_its_program_declares_and_no_more() -> None:
    assert access_file.FILE.read_text("utf-8") == access_file.text(), "python -m deploy.access_file writes it"
    tutor = kinds(objects(STRIMZI), "KafkaUser")["tutor"]["spec"]["authorization"]["acls"]
    granted = {
        (kind, name, operation)
        for acl in tutor
        for kind, name in [(acl["resource"]["type"], acl["resource"]["name"].removeprefix("a_B."))]
        for operation in acl["operations"]
    }
    rights = access_file.programs()["tutor"]
    assert granted == {
        *(("topic", name, "Read") for name in rights["read"]),
        *(("topic", name, "Write") for name in rights["write"]),
        ("group", "tutor", "Read"),
        ("group", "soliloquy-replayed", "Describe"),
    }
    assert {acl["resource"]["patternType"] for acl in tutor} == {"literal"}


def test_a_program_that_the_values_leave_out_has_no_user() -> None:
    both = kinds(objects(STRIMZI, TRAINED, {"keda": {"enabled": True}}), "KafkaUser")
    assert {"training", "keda"} <= set(both)
    without = objects(STRIMZI, {"services": {"planner": {"enabled": False}}})
    assert "planner" not in kinds(without, "KafkaUser")


def test_what_holds_events_stays_when_the_release_goes() -> None:
    kept = [each for each in objects(STRIMZI) if each["kind"] in ("Kafka", "KafkaNodePool", "KafkaTopic")]
    assert {each["metadata"]["annotations"]["helm.sh/resource-policy"] for each in kept} == {"keep"}
    assert len(kept) == len(shapes()) + 2
