"""Submits the chart's documents to a real API server: defaulting, validation, CEL, admission."""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart import restricted
from tests.chart.render import Document, combinations, load, rendered, values_of
from tests.cluster.control_plane import Cluster, ClusterFailed
from tests.cluster.watching import component_of

pytestmark = pytest.mark.timeout(600)

# All that the level refuses of the installer.
OF_THE_INSTALLER = (
    'violates PodSecurity "restricted:latest": restricted volume types (volume "seccomp" uses restricted volume type '
    '"hostPath"), runAsNonRoot != true (container "installer" must not set securityContext.runAsNonRoot=false), '
    'runAsUser=0 (container "installer" must not set runAsUser=0)'
)


@functools.cache
def documents() -> list[Document]:
    """Returns the distinct documents of every two choices."""
    texts = (rendered("helm4", *values_of(combination)) for combination in combinations())
    parsed = [document for text in texts for document in load(text)]
    return list({json.dumps(document, sort_keys=True): document for document in parsed}.values())


def is_installer(document: Document) -> bool:
    """Whether it is the DaemonSet that writes on nodes, for which a namespace has to allow more, as the guide says."""
    return component_of(document) == "installer"


def test_the_server_takes_every_document_of_every_two_choices(cluster: Cluster, namespace: str) -> None:
    """Applies strictly: an unknown field is an error, and no warning appears, such as one about a deprecated API."""
    # Another test covers pods, because admission requires what they refer to.
    everything = [
        document | {"metadata": document["metadata"] | {"namespace": namespace}}
        for document in documents()
        if document["kind"] != "Pod" and not is_installer(document)
    ]
    cluster.kubectl("create", "namespace", "tutoring")
    said = cluster.create(everything, "--dry-run=server", "--validate=strict", f"--namespace={namespace}")
    assert said.count("(server dry run)") == len(everything)
    assert "Warning" not in said


def test_admission_takes_every_pod_as_restricted(cluster: Cluster, namespace: str) -> None:
    within = [document for document in documents() if not is_installer(document)]
    specs = {json.dumps(pod, sort_keys=True): alone(pod) for each in within for pod in restricted.pods(each)}
    cluster.create(list(named_by(list(specs.values()))), f"--namespace={namespace}")
    made = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec}
        for number, spec in enumerate(specs.values())
    ]
    said = cluster.create(made, "--dry-run=server", "--validate=strict", f"--namespace={namespace}")
    assert said.count("(server dry run)") == len(made) > 50


def alone(spec: dict[str, Any]) -> dict[str, Any]:
    """Adds what a controller would: the volumes of a StatefulSet's claims, the account of a Ray cluster."""
    mounted = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", [])}
    claims = sorted(mounted - {volume["name"] for volume in spec["volumes"]})
    volumes = [*spec["volumes"], *({"name": name, "emptyDir": {}} for name in claims)]
    return {"serviceAccountName": "default"} | spec | {"volumes": volumes}


def named_by(specs: list[dict[str, Any]]) -> Iterator[Document]:
    """Creates the objects that pods refer to and that a release or the cluster provides."""
    for account in {spec["serviceAccountName"] for spec in specs} - {"default"}:
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
    for name in {spec.get("priorityClassName") for spec in specs} - {None}:
        yield {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1}
    for name in {spec.get("runtimeClassName") for spec in specs} - {None}:
        yield {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name}


def test_the_installer_of_the_profile_alone_writes_on_a_node_as_root(cluster: Cluster, namespace: str) -> None:
    for spec in [pod for document in documents() if is_installer(document) for pod in restricted.pods(document)]:
        plain = {key: value for key, value in spec.items() if key not in ("serviceAccountName", "priorityClassName")}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "installer"}, "spec": plain}
        with pytest.raises(ClusterFailed, match=f"{re.escape(OF_THE_INSTALLER)}$"):
            cluster.create([pod], "--dry-run=server", "--validate=strict", f"--namespace={namespace}")


def test_admission_refuses_a_pod_that_is_not(cluster: Cluster, namespace: str) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bad"},
        "spec": {"containers": [{"name": "a", "image": "b"}]},
    }
    with pytest.raises(ClusterFailed, match="violates PodSecurity"):
        cluster.create([pod], "--dry-run=server", f"--namespace={namespace}")


def test_the_rules_of_an_operator_hold(cluster: Cluster, namespace: str) -> None:
    """The definition contains these rules as CEL, which no schema evaluates."""
    scaled: dict[str, Any] = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "student"},
        "spec": {
            "scaleTargetRef": {"name": "student"},
            "minReplicaCount": 5,
            "maxReplicaCount": 2,
            "triggers": [{"type": "kafka", "metadata": {}}],
        },
    }
    with pytest.raises(ClusterFailed, match="minReplicaCount must be less than or equal to maxReplicaCount"):
        cluster.create([scaled], "--dry-run=server", f"--namespace={namespace}")
