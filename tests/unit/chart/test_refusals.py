"""Values that cannot be meant end with one sentence that names the value."""

from typing import Any

import pytest

from tests.chart.render import HELMS, Refused, rendered
from tests.unit.chart.objects import KAFKA, PUBLIC, SERVED, TRAINED, refusal

STRIMZI = {"kafka": {"enabled": True}, "topics": {"enabled": True}}


def of(path: str, value: object) -> dict[str, Any]:
    """kafka.bootstrap -> {"kafka": {"bootstrap": ..}}"""
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "kafka.bootstrap is empty: name your brokers as HOST:PORT"),
        ([of("kafka.bootstrap", "kafka")], 'kafka.bootstrap has "kafka", which is no address'),
        ([of("kafka.bootstrap", "kafka:99999")], 'kafka.bootstrap has "kafka:99999": there is no port above 65535'),
        ([KAFKA, of("strimzi", STRIMZI)], "strimzi.kafka.enabled makes another Kafka: choose one"),
        ([KAFKA, of("kafka.sasl.enabled", True)], "kafka.sasl.enabled needs kafka.sasl.existingSecret"),
        (
            [KAFKA, of("kafka.sasl", {"enabled": True, "existingSecret": "user"})],
            "kafka.sasl.enabled needs the user in one place",
        ),
        ([KAFKA, of("kafka.sasl.existingSecret", "user")], 'kafka.sasl.existingSecret is "user" and says nothing'),
        ([KAFKA, of("kafka.sasl.username", "user")], 'kafka.sasl.username is "user" and says nothing'),
        ([KAFKA, of("kafka.tls.ca.existingSecret", "ca")], 'kafka.tls names the Secret "ca", which says nothing'),
        ([of("strimzi.kafka.enabled", True)], "strimzi.kafka.enabled needs strimzi.topics.enabled"),
        ([of("strimzi", STRIMZI), of("strimzi.topics.cluster", "data")], 'strimzi.topics.cluster is "data"'),
        (
            [of("strimzi", STRIMZI), of("strimzi.kafka.replicas", 1)],
            "strimzi.kafka.replicas is 1 and each topic is to have 3 copies: set topics.replication to 1",
        ),
        ([KAFKA, of("strimzi.user.enabled", True)], "strimzi.user.enabled needs strimzi.topics.cluster"),
        (
            [
                of("strimzi", {**STRIMZI, "user": {"enabled": True}}),
                of("kafka.sasl", {"enabled": True, "username": "u", "existingSecret": "s"}),
            ],
            "strimzi.user.enabled brings a certificate and kafka.sasl.enabled a password: choose one",
        ),
        ([of("strimzi", STRIMZI), of("kafka.tls.enabled", True)], "kafka.tls and kafka.sasl are of an existing Kafka"),
        ([KAFKA, of("model.engine", "")], "model.engine is empty"),
        ([KAFKA, of("model.engine", "openai")], "model.engine openai needs model.baseUrl"),
        (
            [KAFKA, of("model.baseUrl", "https://a.example/v1")],
            'model.baseUrl is "https://a.example/v1" and says nothing',
        ),
        ([KAFKA, of("model.engine", "ray")], "model.engine ray needs model.address, or modelService.enabled"),
        ([KAFKA, of("model.address", "model:9000")], 'model.address is "model:9000" and says nothing'),
        ([KAFKA, of("model.existingSecret", "key")], 'model.existingSecret is "key" and says nothing'),
        ([KAFKA, of("model.name", "large")], 'model.name is "large" and says nothing'),
        ([KAFKA, of("sandbox.nested.seccompProfile", "")], "sandbox.nested.seccompProfile is empty"),
        ([KAFKA, of("sandbox.mode", "runtimeClass")], "sandbox.runtimeClass.name is empty"),
        ([KAFKA, of("sandbox.runtimeClass.name", "kata")], 'sandbox.runtimeClass.name is "kata" and says nothing'),
        (
            [KAFKA, of("sandbox", {"mode": "runtimeClass", "runtimeClass": {"name": "gvisor"}})],
            'sandbox.runtimeClass.name is "gvisor": gVisor does not start within gVisor',
        ),
        (
            [
                KAFKA,
                of("sandbox", {"mode": "runtimeClass", "runtimeClass": {"name": "kata"}}),
                of("sandbox.nested.appArmorProfile", "own"),
            ],
            'sandbox.nested.appArmorProfile is "own" and says nothing',
        ),
        ([KAFKA, of("hpa.enabled", True), of("keda.enabled", True)], "hpa.enabled and keda.enabled would both scale"),
        (
            [KAFKA, of("keda", {"enabled": True, "trigger": "prometheus"})],
            "keda.trigger prometheus needs keda.prometheusAddress",
        ),
        (
            [
                KAFKA,
                of("keda.enabled", True),
                of("kafka.sasl", {"enabled": True, "username": "u", "existingSecret": "s"}),
            ],
            "keda.trigger kafka needs kafka.sasl.usernameKey",
        ),
        (
            [KAFKA, of("keda", {"enabled": True, "prometheusAddress": "http://prometheus:9090"})],
            'keda.prometheusAddress is "http://prometheus:9090" and says nothing',
        ),
        ([KAFKA, of("services.tutor.replicas", 0)], "services.tutor.replicas is 0 and podDisruptionBudget.enabled"),
        ([KAFKA, of("defaults.replicas", 0)], "defaults.replicas is 0 and podDisruptionBudget.enabled"),
        (
            [KAFKA, of("hpa.enabled", True), of("services.tutor.resources", {"limits": {"memory": "1Gi"}})],
            "hpa.enabled needs services.tutor.resources.requests.cpu",
        ),
        (
            [KAFKA, of("services.tutor.rollingUpdate", {"maxUnavailable": "0%", "maxSurge": 0})],
            "services.tutor.rollingUpdate.maxUnavailable and maxSurge are both 0",
        ),
        ([KAFKA, of("services.tutor.volumes", [{"name": "tmp"}])], 'services.tutor.volumes has "tmp"'),
        (
            [KAFKA, of("services.tutor.volumeMounts", [{"name": "own", "mountPath": "/own"}])],
            'services.tutor.volumeMounts has "own", which is none of its volumes',
        ),
        (
            [
                KAFKA,
                of("services.tutor.volumes", [{"name": "own"}]),
                of("services.tutor.volumeMounts", [{"name": "own", "mountPath": "/tmp"}]),
            ],
            'services.tutor.volumeMounts has "/tmp", where the chart has something itself',
        ),
        (
            [KAFKA, of("services.collector.replicas", 2)],
            "services.collector.replicas is 2: there can be one collector only",
        ),
        (
            [KAFKA, of("hpa.enabled", True), of("services.student.scaling", {"min": 5, "max": 4})],
            "services.student.scaling.min is 5 and scaling.max 4",
        ),
        (
            [KAFKA, of("hpa.enabled", True), of("services.student.scaling.max", 13)],
            "services.student.scaling.max is 13 and a topic has 12 partitions",
        ),
        (
            [KAFKA, of("services.gateway.replicas", 2)],
            "services.gateway.replicas is 2: there can be one gateway only",
        ),
        (
            [KAFKA, of("gateway.ingress.enabled", True)],
            "gateway.ingress.enabled would let in whoever comes: name the Secret of the tokens",
        ),
        (
            [KAFKA, of("gateway.route.enabled", True)],
            "gateway.route.enabled would let in whoever comes: name the Secret of the tokens",
        ),
        (
            [KAFKA, PUBLIC, of("services.gateway.enabled", False)],
            "gateway.ingress.enabled leads to nobody: services.gateway.enabled is off",
        ),
        ([KAFKA, PUBLIC, of("gateway.host", "")], "gateway.ingress.enabled needs gateway.host"),
        ([KAFKA, PUBLIC, of("gateway.ingress.tlsSecret", "")], "tokens in the clear are anybody's"),
        ([KAFKA, PUBLIC, of("gateway.route.parentRefs", [])], "gateway.route.enabled needs gateway.route.parentRefs"),
        ([KAFKA, of("gateway.host", "a.example")], 'gateway.host is "a.example" and says nothing'),
        ([KAFKA, of("gateway.tls.existingSecret", "own")], 'gateway.tls.existingSecret is "own" and says nothing'),
        (
            [KAFKA, PUBLIC, of("gateway.tls.existingSecret", "own")],
            'gateway.tls.existingSecret is "own" and gateway.ingress speaks HTTP to the gateway',
        ),
        (
            [KAFKA, of("gateway.adapters", {"registry": "s3://bucket/adapters", "existingClaim": "adapters"})],
            'gateway.adapters.existingClaim "adapters": choose one',
        ),
        ([KAFKA, of("gateway.tls.clientCaKey", "ca.crt")], 'gateway.tls.clientCaKey is "ca.crt" and says nothing'),
        ([KAFKA, of("modelService.enabled", True)], "modelService.path is empty: the vllm engine needs"),
        ([KAFKA, SERVED, of("modelService.engine", "scripted")], "modelService.engine scripted has no weights"),
        ([KAFKA, SERVED, of("modelService.replicas.min", 2)], "modelService.replicas.min is 2 and replicas.max 1"),
        ([KAFKA, SERVED, of("modelService.workers.replicas.min", 5)], "modelService.workers.replicas.min is 5"),
        ([KAFKA, SERVED, of("modelService.requests.target", 200)], "modelService.requests.target is 200"),
        (
            [KAFKA, SERVED, of("modelService.gpus", 2)],
            "modelService.gpus is 2 and modelService.workers.resources.limits has 1 of nvidia.com/gpu",
        ),
        (
            [KAFKA, SERVED, of("modelService.replicas.max", 5)],
            "modelService.replicas.max is 5 and modelService.workers.replicas.max 4",
        ),
        ([KAFKA, of("training.cronJob.enabled", True)], "training.args is empty"),
        ([KAFKA, of("training.retraining.enabled", True)], "training.retraining.args is empty"),
        (
            [KAFKA, of("training.retraining", {"enabled": True, "args": ["--config", "higgs"]})],
            "training.retraining.enabled needs model.engine ray",
        ),
        (
            [KAFKA, TRAINED, of("training.persistence.accessModes", ["ReadWriteOnce"])],
            "training.persistence.accessModes is [ReadWriteOnce]: training.rayJob.enabled needs ReadWriteMany",
        ),
        ([KAFKA, of("dataset.existingSecret", "keys")], 'dataset.existingSecret is "keys" and says nothing'),
        ([KAFKA, of("extraManifests", ["words"])], "extraManifests[0] is no object of Kubernetes"),
        ([KAFKA, of("serviceAccount.create", False)], "serviceAccount.create is off and serviceAccount.name empty"),
        ([KAFKA, of("serviceAccount.name", "own")], 'serviceAccount.name is "own"'),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(values: list[dict[str, Any]], sentence: str) -> None:
    told = refusal(of("apiVersionsCheck", False), *values)
    assert sentence in told
    assert len([line for line in told.splitlines() if line.startswith("Error: ")]) == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("services.student.replica", 2),
        ("services.console", {}),
        ("gateway.host", "soliloquy.example.com/console"),
        ("kafka.brokers", "kafka:9092"),
        ("networkPolicy.enabled", "yes"),
        ("defaults.scaling.min", 0),
        ("podDisruptionBudget.maxUnavailable", 0),
        ("images.workers.digest", "latest"),
        ("sandbox.mode", "privileged"),
        ("sandbox.nested.seccompProfile", "/etc/seccomp.json"),
        ("kafka.bootstrap", ["kafka:9092"]),
        ("kafka.sasl.passwordKey", ""),
        ("kafka.tls.ca.existingSecret", "Kafka_CA"),
        ("fullnameOverride", "Grow"),
        ("labels.team", "a" * 64),
        ("dataset.persistence.size", "large"),
        ("training.cronJob.schedule", "every day at three"),
    ],
)
def test_a_value_that_the_schema_does_not_know_is_refused_by_its_path(path: str, value: object) -> None:
    told = refusal(KAFKA, of(path, value))
    assert "values don't meet the specifications of the schema" in told
    assert path.split(".")[-1] in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("volumes", [{"name": "node", "hostPath": {"path": "/"}}]),
        ("env", [{"value": "nameless"}]),
        ("env", [{"name": "A", "value": "1", "valueFrom": {}}]),
        ("topologySpreadConstraints", [{"topologyKey": "zone"}]),
    ],
)
def test_what_kubernetes_would_refuse_of_a_list_is_refused_by_its_place(name: str, value: object) -> None:
    assert f"defaults.{name}.0" in refusal(KAFKA, of(f"defaults.{name}", value))


def test_a_release_whose_name_begins_with_a_digit_is_told_what_to_do() -> None:
    with pytest.raises(Refused, match=r'the name "1lab-soliloquy" begins with a digit, .* set fullnameOverride'):
        rendered(HELMS[0], KAFKA, release="1lab")
