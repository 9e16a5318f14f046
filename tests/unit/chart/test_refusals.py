"""Checks that contradictory values fail with one sentence that names the value."""

from typing import Any

import pytest

from tests.chart.render import HELMS, Refused, rendered
from tests.unit.chart.objects import IMAGES, PUBLIC, REQUIRED, SERVED, TRAINED, refusal

OWN_IMAGES = {name: {"repository": f"10.0.0.9:5000/{name}"} for name in ("workers", "executor")}
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
        ([], 'images.workers.repository "soliloquy/workers" names no registry'),
        (
            [REQUIRED, of("global.imageRegistry", ""), of("images.workers.repository", "registry.example.com/workers")],
            'images.executor.repository "soliloquy/executor" names no registry',
        ),
        (
            [REQUIRED, SERVED, of("global.imageRegistry", ""), of("images", OWN_IMAGES)],
            'images.model.repository "soliloquy/model" names no registry',
        ),
        ([IMAGES], "kafka.bootstrap is empty: set it to HOST:PORT of your brokers"),
        ([IMAGES, of("kafka.bootstrap", "kafka")], 'kafka.bootstrap has "kafka", which is not an address'),
        ([IMAGES, of("kafka.bootstrap", "kafka:99999")], 'kafka.bootstrap has "kafka:99999": ports end at 65535'),
        ([REQUIRED, of("strimzi", STRIMZI)], "strimzi.kafka.enabled creates another Kafka: choose one"),
        ([REQUIRED, of("kafka.sasl.enabled", True)], "kafka.sasl.enabled requires kafka.sasl.existingSecret"),
        (
            [REQUIRED, of("kafka.sasl", {"enabled": True, "existingSecret": "user"})],
            "kafka.sasl.enabled requires the user in one place",
        ),
        ([REQUIRED, of("kafka.sasl.existingSecret", "user")], 'kafka.sasl.existingSecret is "user" but has no effect'),
        ([REQUIRED, of("kafka.sasl.username", "user")], 'kafka.sasl.username is "user" but has no effect'),
        ([REQUIRED, of("kafka.tls.ca.existingSecret", "ca")], 'kafka.tls names the Secret "ca", which has no effect'),
        ([IMAGES, of("strimzi.kafka.enabled", True)], "strimzi.kafka.enabled requires strimzi.topics.enabled"),
        ([IMAGES, of("strimzi", STRIMZI), of("strimzi.topics.cluster", "data")], 'strimzi.topics.cluster is "data"'),
        (
            [IMAGES, of("strimzi", STRIMZI), of("strimzi.kafka.replicas", 1)],
            "strimzi.kafka.replicas is 1 and topics want 3 replicas: set topics.replication to 1",
        ),
        (
            [REQUIRED, of("kafka.sasl", {"enabled": True, "mechanism": "OAUTHBEARER"})],
            "requires one of kafka.sasl.token.audience",
        ),
        ([REQUIRED, of("kafka.sasl.token.audience", "k")], "kafka.sasl.token.audience has no effect without"),
        (
            [
                REQUIRED,
                of("kafka.sasl", {"enabled": True, "mechanism": "OAUTHBEARER", "token": {"url": "http://a.example"}}),
            ],
            "use https, since it is sent a secret",
        ),
        (
            [
                REQUIRED,
                of("keda.enabled", True),
                of("kafka.sasl", {"enabled": True, "mechanism": "OAUTHBEARER", "token": {"audience": "k"}}),
            ],
            "use keda.trigger prometheus",
        ),
        (
            [REQUIRED, of("strimzi", {"user": {"enabled": True}, "topics": {"cluster": "data"}})],
            "strimzi.user.enabled requires strimzi.topics.enabled",
        ),
        ([REQUIRED, of("strimzi.user.enabled", True)], "strimzi.user.enabled requires strimzi.topics.cluster"),
        (
            [
                IMAGES,
                of("strimzi", {**STRIMZI, "user": {"enabled": True}}),
                of("kafka.sasl", {"enabled": True, "username": "u", "existingSecret": "s"}),
            ],
            "strimzi.user.enabled uses a certificate and kafka.sasl.enabled a password: choose one",
        ),
        (
            [IMAGES, of("strimzi", STRIMZI), of("kafka.tls.enabled", True)],
            "kafka.tls and kafka.sasl apply to an existing Kafka",
        ),
        ([REQUIRED, of("model.engine", "")], "model.engine is empty"),
        ([REQUIRED, of("model.engine", "openai")], "model.engine openai requires model.baseUrl"),
        (
            [REQUIRED, of("model.baseUrl", "https://a.example/v1")],
            'model.baseUrl is "https://a.example/v1" but has no effect',
        ),
        ([REQUIRED, of("model.engine", "ray")], "model.engine ray requires model.address or modelService.enabled"),
        ([REQUIRED, of("model.address", "model:9000")], 'model.address is "model:9000" but has no effect'),
        ([REQUIRED, of("model.existingSecret", "key")], 'model.existingSecret is "key" but has no effect'),
        ([REQUIRED, of("model.name", "large")], 'model.name is "large" but has no effect'),
        ([REQUIRED, of("sandbox.nested.seccompProfile", "")], "sandbox.nested.seccompProfile is empty"),
        ([REQUIRED, of("sandbox.mode", "runtimeClass")], "sandbox.runtimeClass.name is empty"),
        ([REQUIRED, of("sandbox.runtimeClass.name", "kata")], 'sandbox.runtimeClass.name is "kata" but has no effect'),
        (
            [REQUIRED, of("sandbox", {"mode": "runtimeClass", "runtimeClass": {"name": "gvisor"}})],
            'sandbox.runtimeClass.name is "gvisor": gVisor does not start within gVisor',
        ),
        (
            [
                REQUIRED,
                of("sandbox", {"mode": "runtimeClass", "runtimeClass": {"name": "kata"}}),
                of("sandbox.nested.appArmorProfile", "own"),
            ],
            'sandbox.nested.appArmorProfile is "own" but has no effect',
        ),
        ([REQUIRED, of("hpa.enabled", True), of("keda.enabled", True)], "hpa.enabled and keda.enabled would scale"),
        (
            [REQUIRED, of("keda", {"enabled": True, "trigger": "prometheus"})],
            "keda.trigger prometheus requires keda.prometheusAddress",
        ),
        (
            [
                REQUIRED,
                of("keda.enabled", True),
                of("kafka.sasl", {"enabled": True, "username": "u", "existingSecret": "s"}),
            ],
            "keda.trigger kafka requires kafka.sasl.usernameKey",
        ),
        (
            [REQUIRED, of("keda", {"enabled": True, "prometheusAddress": "http://prometheus:9090"})],
            'keda.prometheusAddress is "http://prometheus:9090" but has no effect',
        ),
        ([REQUIRED, of("services.tutor.replicas", 0)], "services.tutor.replicas is 0 and podDisruptionBudget.enabled"),
        ([REQUIRED, of("defaults.replicas", 0)], "defaults.replicas is 0 and podDisruptionBudget.enabled"),
        (
            [REQUIRED, of("hpa.enabled", True), of("services.tutor.resources", {"limits": {"memory": "1Gi"}})],
            "hpa.enabled requires services.tutor.resources.requests.cpu",
        ),
        (
            [REQUIRED, of("services.tutor.rollingUpdate", {"maxUnavailable": "0%", "maxSurge": 0})],
            "services.tutor.rollingUpdate.maxUnavailable and maxSurge are both 0",
        ),
        ([REQUIRED, of("services.tutor.volumes", [{"name": "tmp"}])], 'services.tutor.volumes has "tmp"'),
        (
            [REQUIRED, of("services.tutor.volumeMounts", [{"name": "own", "mountPath": "/own"}])],
            'services.tutor.volumeMounts has "own", which is not one of its volumes',
        ),
        (
            [
                REQUIRED,
                of("services.tutor.volumes", [{"name": "own"}]),
                of("services.tutor.volumeMounts", [{"name": "own", "mountPath": "/tmp"}]),
            ],
            'services.tutor.volumeMounts has "/tmp", where the chart mounts something',
        ),
        (
            [REQUIRED, of("services.collector.replicas", 2)],
            "services.collector.replicas is 2: only one collector may run",
        ),
        (
            [REQUIRED, of("hpa.enabled", True), of("services.student.scaling", {"min": 5, "max": 4})],
            "services.student.scaling.min is 5 and scaling.max 4",
        ),
        (
            [REQUIRED, of("hpa.enabled", True), of("services.student.scaling.max", 13)],
            "services.student.scaling.max is 13 and a topic has 12 partitions",
        ),
        (
            [REQUIRED, of("services.gateway.replicas", 2)],
            "services.gateway.replicas is 2: only one gateway may run",
        ),
        (
            [REQUIRED, of("gateway.ingress.enabled", True)],
            "gateway.ingress.enabled would admit anyone: set gateway.tokens.existingSecret",
        ),
        (
            [REQUIRED, of("gateway.route.enabled", True)],
            "gateway.route.enabled would admit anyone: set gateway.tokens.existingSecret",
        ),
        (
            [REQUIRED, PUBLIC, of("services.gateway.enabled", False)],
            "gateway.ingress.enabled leads nowhere: services.gateway.enabled is false",
        ),
        ([REQUIRED, PUBLIC, of("gateway.host", "")], "gateway.ingress.enabled requires gateway.host"),
        ([REQUIRED, PUBLIC, of("gateway.ingress.tlsSecret", "")], "tokens must not be sent in the clear"),
        (
            [REQUIRED, PUBLIC, of("gateway.route.parentRefs", [])],
            "gateway.route.enabled requires gateway.route.parentRefs",
        ),
        ([REQUIRED, of("gateway.host", "a.example")], 'gateway.host is "a.example" but has no effect'),
        ([REQUIRED, of("gateway.tls.existingSecret", "own")], 'gateway.tls.existingSecret is "own" but has no effect'),
        (
            [REQUIRED, PUBLIC, of("gateway.tls.existingSecret", "own")],
            'gateway.tls.existingSecret is "own" and gateway.ingress speaks HTTP to the gateway',
        ),
        (
            [REQUIRED, of("gateway.adapters", {"registry": "s3://bucket/adapters", "existingClaim": "adapters"})],
            'gateway.adapters.existingClaim "adapters": choose one',
        ),
        ([REQUIRED, of("gateway.tls.clientCaKey", "ca.crt")], 'gateway.tls.clientCaKey is "ca.crt" but has no effect'),
        (
            [REQUIRED, of("sandbox.tls.executorSecret", "own")],
            'sandbox.tls.executorSecret is "own" and sandbox.tls.gatewaySecret "": name both',
        ),
        (
            [
                REQUIRED,
                of("sandbox.tls", {"executorSecret": "own", "gatewaySecret": "its"}),
                of("services.gateway.enabled", False),
            ],
            'sandbox.tls.executorSecret is "own" but has no effect without services.gateway.enabled',
        ),
        ([REQUIRED, of("modelService.enabled", True)], "modelService.path is empty: the vllm engine requires"),
        ([REQUIRED, SERVED, of("modelService.engine", "scripted")], "modelService.engine scripted has no weights"),
        ([REQUIRED, SERVED, of("modelService.replicas.min", 2)], "modelService.replicas.min is 2 and replicas.max 1"),
        ([REQUIRED, SERVED, of("modelService.workers.replicas.min", 5)], "modelService.workers.replicas.min is 5"),
        (
            [REQUIRED, SERVED, of("modelService.requests", {"target": 200, "max": 128})],
            "modelService.requests.target is 200",
        ),
        (
            [REQUIRED, SERVED, of("modelService.engineSettings", {"vllm": {"tensor_parallel": 2}})],
            "a replica of modelService uses 2 GPUs and modelService.workers.resources.limits has 1 of nvidia.com/gpu",
        ),
        (
            [REQUIRED, SERVED, of("modelService.replicas.max", 5)],
            "modelService.replicas.max is 5 and modelService.workers.replicas.max 4",
        ),
        ([REQUIRED, of("training.cronJob.enabled", True)], "training.args is empty"),
        (
            [REQUIRED, TRAINED, of("training.args", ["--data", "s3://bucket/run", "--name", "tutor"])],
            "training.args has the same name for every training of training.cronJob: use the job's, e.g. --name=",
        ),
        (
            [REQUIRED, TRAINED, of("training.freeze", ["--out", "/trained/frozen"])],
            "training.freeze has the same folder for every training: use the job's name, e.g. --out=",
        ),
        ([REQUIRED, of("training.retraining.enabled", True)], "training.retraining.args is empty"),
        (
            [REQUIRED, of("training.retraining", {"enabled": True, "args": ["--config", "soliloquy"]})],
            "training.retraining.enabled requires model.engine ray",
        ),
        (
            [REQUIRED, TRAINED, of("training.persistence.accessModes", ["ReadWriteOnce"])],
            "training.persistence.accessModes is [ReadWriteOnce]: training.rayJob.enabled requires ReadWriteMany",
        ),
        ([REQUIRED, of("dataset.existingSecret", "keys")], 'dataset.existingSecret is "keys" but has no effect'),
        ([REQUIRED, of("extraManifests", ["words"])], "extraManifests[0] is no object of Kubernetes"),
        (
            [REQUIRED, of("serviceAccount.create", False)],
            "serviceAccount.create is false and serviceAccount.name empty",
        ),
        ([REQUIRED, of("serviceAccount.name", "own")], 'serviceAccount.name is "own"'),
        (
            [REQUIRED, of("serviceAccount.annotations.executor", {"role": "datasets"})],
            "serviceAccount.annotations.executor would lend a role to code that a model wrote",
        ),
        (
            [REQUIRED, of("serviceAccount.annotations.collecter", {"role": "datasets"})],
            'serviceAccount.annotations has "collecter", which is no service of this release: there are codegen, ',
        ),
        (
            [REQUIRED, of("serviceAccount", {"create": False, "name": "own", "annotations": {"tutor": {"a": "b"}}})],
            "serviceAccount.annotations has no effect with serviceAccount.create false",
        ),
        (
            [REQUIRED, SERVED, of("modelService.weights", {"existingClaim": "weights", "image": "r.example/w:1"})],
            'modelService.weights.existingClaim is "weights" and image "r.example/w:1": choose one',
        ),
        (
            [REQUIRED, SERVED, of("modelService.weights", {"existingClaim": "weights", "source": "s3://bucket/base"})],
            'modelService.weights.source is "s3://bucket/base" and existingClaim "weights": choose one',
        ),
        (
            [REQUIRED, SERVED, of("modelService", {"path": "/opt/base", "weights": {"source": "s3://bucket/base"}})],
            'modelService.path is "/opt/base": weights.source is fetched to a folder below weights.mountPath, /models',
        ),
        (
            [REQUIRED, SERVED, of("modelService.weights.digest", "a" * 64)],
            "modelService.weights.digest has no effect without modelService.weights.source",
        ),
        (
            [REQUIRED, SERVED, of("modelService.head.redis.existingSecret", "valkey")],
            'modelService.head.redis.existingSecret is "valkey" but has no effect',
        ),
        (
            [REQUIRED, SERVED, of("modelService.upgrade", "NewClusterWithIncrementalUpgrade")],
            "requires modelService.incremental.gatewayClassName",
        ),
        (
            [REQUIRED, SERVED, of("modelService.incremental.gatewayClassName", "istio")],
            'modelService.incremental.gatewayClassName is "istio" but has no effect',
        ),
        (
            [
                REQUIRED,
                SERVED,
                of("modelService.upgrade", "NewClusterWithIncrementalUpgrade"),
                of("modelService.incremental.gatewayClassName", "istio"),
                of("modelService.workers.replicas.max", 1),
            ],
            "requires Ray's autoscaler: set modelService.workers.replicas.max above its min",
        ),
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
        ("global.imageRegistry", "https://registry.example.com"),
        ("global.imageRegistry", "registry.example.com/"),
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
    told = refusal(REQUIRED, of(path, value))
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
    assert f"defaults.{name}.0" in refusal(REQUIRED, of(f"defaults.{name}", value))


def test_a_release_whose_name_begins_with_a_digit_is_told_what_to_do() -> None:
    with pytest.raises(Refused, match=r'the name "1lab-soliloquy" begins with a digit, .* set fullnameOverride'):
        rendered(HELMS[0], REQUIRED, release="1lab")
