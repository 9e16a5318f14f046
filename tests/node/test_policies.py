"""Opens connections from inside pods: kube-router enforces the policies, and what they allow is all that opens."""

import json
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest

from tests.cluster.control_plane import until
from tests.kafka.cluster import KafkaCluster
from tests.node.node import ADDRESS
from tests.node.release import SERVICES, Release, said

pytestmark = pytest.mark.timeout(600)
ELSEWHERE = "elsewhere"
# Prints which of its arguments' addresses take a connection.
_TRY = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def opens(place):
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 2).close()
    except OSError:
        return False
    return True
with ThreadPoolExecutor(len(sys.argv)) as tries:
    print(json.dumps(list(tries.map(opens, sys.argv[1:]))))
"""


@pytest.fixture(scope="module")
def places(release: Release, kafka: KafkaCluster) -> dict[str, str]:
    """Returns addresses that answer, by what they are."""
    found = {"names": f"{ADDRESS}:53", "kubelet": f"{ADDRESS}:10250"}
    server = urlsplit(release.cluster.kubectl("config", "view", "--output=jsonpath={.clusters[0].cluster.server}"))
    found["API server"] = f"{ADDRESS}:{server.port}"
    found["Kafka"] = kafka.bootstrap.split(",")[0]
    for service in SERVICES:
        found[f"metrics of {service}"] = f"{_address(release, service)}:9090"
    found["programs"] = f"{_address(release, 'executor')}:50051"
    found["console"] = f"{_address(release, 'gateway')}:8080"
    found["gRPC"] = f"{_address(release, 'gateway')}:8081"
    return found


def _address(release: Release, service: str) -> str:
    [pod] = release.pods(service)
    return str(pod["status"]["podIP"])


def reached(told: str, places: Mapping[str, str]) -> set[str]:
    return {name for name, opens in zip(places, json.loads(told), strict=True) if opens}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_reaches_kafka_and_names_and_the_gateway_also_who_runs_programs(
    release: Release, places: dict[str, str], service: str
) -> None:
    # A pod may always speak to itself, for which no packet leaves it.
    others = {name: place for name, place in places.items() if not place.startswith(_address(release, service))}
    told = release.inside(service, "python", "-c", _TRY, *others.values())
    assert reached(told, others) == {"Kafka", "names"} | ({"programs"} if service == "gateway" else set())


@pytest.mark.parametrize(
    ("name", "lets_in"),
    [
        ("a-stranger", set()),
        ("prometheus", {f"metrics of {service}" for service in SERVICES}),
        ("ingress-nginx", {"console", "gRPC"}),
    ],
)
def test_a_pod_of_another_namespace_comes_in_by_what_it_is(
    release: Release, places: dict[str, str], name: str, lets_in: set[str]
) -> None:
    [pod] = release.pods("tutor")
    image = pod["spec"]["containers"][0]["image"]
    within = f"--namespace={ELSEWHERE}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}}
    release.cluster.kubectl("apply", "--filename=-", stdin=json.dumps(manifest))
    labels = f"--labels=app.kubernetes.io/name={name}"
    release.cluster.kubectl("run", name, f"--image={image}", labels, within, "--command", "--", "sleep", "600")
    try:
        release.cluster.kubectl("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=60s", within)
        # Nothing keeps this namespace's pods from what has no policy.
        outside = {"names", "API server", "kubelet", "Kafka"}
        command = release.cluster.command("kubectl", "exec", name, within, "--", "python", "-c", _TRY)
        # The rules for a new pod come a moment after it.
        until(lambda: _assert_reached(command, places, outside | lets_in))
    finally:
        release.cluster.kubectl("delete", "pod", name, within, "--now")


def _assert_reached(command: list[str], places: Mapping[str, str], wanted: set[str]) -> None:
    assert reached(said([*command, *places.values()]), places) == wanted
