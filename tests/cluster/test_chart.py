"""The chart in a real API server: defaulting, validation, CEL, admission, RBAC, upgrades and rollbacks."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart import restricted
from tests.chart.render import CHART, HELMS, Document, choices, combinations, load, rendered, values_of
from tests.cluster.control_plane import DEPLOYER, Cluster, ClusterFailed

PLAIN = ["--set=kafka.bootstrap=kafka.example:9092"]
# No controller would run a hook's Job.
NO_HOOKS = "--no-hooks"
# What whoever installs the chart needs, from the cluster's own roles. `admin` itself is put together by a controller.
ROLES = ("system:aggregate-to-admin", "system:aggregate-to-edit", "system:aggregate-to-view")


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """One that enforces what the chart promises."""
    name = f"n{abs(hash(request.node.name)) % 10**9}"
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    cluster.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}])
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


def documents() -> list[Document]:
    """Those that differ, of every two choices."""
    texts = (rendered("helm4", *values_of(combination)) for combination in combinations())
    parsed = [document for text in texts for document in load(text)]
    return list({json.dumps(document, sort_keys=True): document for document in parsed}.values())


def images(cluster: Cluster, namespace: str) -> set[str]:
    told = cluster.kubectl("get", "deployments,statefulsets", f"--namespace={namespace}", "--output=json")
    pods = restricted.pods(json.loads(told))
    return {container["image"] for pod in pods for container in pod["containers"]}


def objects(cluster: Cluster, namespace: str) -> list[str]:
    kinds = "deployments,statefulsets,services,configmaps,networkpolicies,poddisruptionbudgets,serviceaccounts"
    found = cluster.kubectl(
        "get", kinds, f"--namespace={namespace}", "--output=name", "--selector=app.kubernetes.io/name=soliloquy"
    )
    return sorted(line for line in found.splitlines() if "/" in line)


def test_the_server_takes_every_document_of_every_two_choices(cluster: Cluster, namespace: str) -> None:
    """Strictly: a field that it does not know is an error. Nothing is warned of, such as an API that will go."""
    everything = documents()
    for document in everything:
        document["metadata"]["namespace"] = namespace
    cluster.kubectl("create", "namespace", "tutoring")
    said = cluster.create(everything, "--dry-run=server", "--validate=strict", f"--namespace={namespace}")
    assert said.count("(server dry run)") == len(everything)
    assert "Warning" not in said


def test_admission_takes_every_pod_as_restricted(cluster: Cluster, namespace: str) -> None:
    specs = {json.dumps(pod, sort_keys=True): pod for document in documents() for pod in restricted.pods(document)}
    made = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": alone(spec)}
        for number, spec in enumerate(specs.values())
    ]
    said = cluster.create(made, "--dry-run=server", f"--namespace={namespace}")
    assert said.count("(server dry run)") == len(made) > 50


def alone(spec: dict[str, Any]) -> dict[str, Any]:
    """With what a controller would add: the volumes of a StatefulSet's claims, the account of a Ray cluster."""
    mounted = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", [])}
    claims = sorted(mounted - {volume["name"] for volume in spec["volumes"]})
    volumes = [*spec["volumes"], *({"name": name, "emptyDir": {}} for name in claims)]
    return {"serviceAccountName": "default"} | spec | {"volumes": volumes}


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
    """They are in its definition as CEL, which no schema evaluates."""
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


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """The chart of a version before, whose images have another tag."""
    chart = tmp_path / "soliloquy"
    shutil.copytree(CHART, chart)
    told = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
    (chart / "Chart.yaml").write_text(yaml.safe_dump(told | {"version": "0.0.9", "appVersion": "0.0.9"}), "utf-8")
    return chart


@pytest.mark.parametrize("program", HELMS)
@pytest.mark.parametrize("profile", choices()["profile"])
def test_a_release_is_upgraded_rolled_back_and_removed(
    cluster: Cluster, namespace: str, previous: Path, program: str, profile: str
) -> None:
    here = [f"--namespace={namespace}", NO_HOOKS]
    flags = [*PLAIN, *([f"--values={CHART / f'values-{profile}.yaml'}"] if profile != "none" else [])]
    said = cluster.helm(program, "install", "lab", str(previous), *here, *flags)
    assert "would violate" not in said
    before = objects(cluster, namespace)
    assert {image.rpartition(":")[2] for image in images(cluster, namespace)} == {"0.0.9"}

    # As the operator's guide has it.
    cluster.helm(program, "upgrade", "lab", str(CHART), *here, "--reset-then-reuse-values")
    assert "0.0.9" not in {image.rpartition(":")[2] for image in images(cluster, namespace)}

    cluster.helm(program, "rollback", "lab", "1", *here)
    assert {image.rpartition(":")[2] for image in images(cluster, namespace)} == {"0.0.9"}
    assert objects(cluster, namespace) == before

    cluster.helm(program, "uninstall", "lab", *here)
    assert objects(cluster, namespace) == []


def test_a_namespace_s_own_admin_can_install_it(cluster: Cluster, namespace: str) -> None:
    here = [f"--namespace={namespace}", NO_HOOKS]
    with pytest.raises(ClusterFailed, match="forbidden"):
        cluster.helm("helm4", "install", "lab", str(CHART), *here, *PLAIN, user=DEPLOYER)
    for role in ROLES:
        name = role.replace(":", "-")
        cluster.kubectl(
            "create", "rolebinding", name, f"--clusterrole={role}", f"--user={DEPLOYER}", f"--namespace={namespace}"
        )
    cluster.helm("helm4", "install", "lab", str(CHART), *here, *PLAIN, user=DEPLOYER)
    assert objects(cluster, namespace)
