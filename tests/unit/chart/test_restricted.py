import copy
from typing import Any

from tests.cases import each_case
from tests.chart.restricted import faults, pods

GOOD: dict[str, Any] = {
    "automountServiceAccountToken": False,
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "initContainers": [],
    "containers": [
        {
            "name": "student",
            "ports": [{"containerPort": 9090}],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
    "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "kafka", "projected": {"sources": []}}],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Returns a valid pod but for one field, which is absent if the value is None."""
    pod = copy.deepcopy(GOOD)
    *way, last = path.split(".")
    part: Any = pod
    for step in way:
        part = part[int(step)] if step.isdigit() else part.setdefault(step, {})
    if value is None:
        del part[last]
    else:
        part[last] = value
    return pod


def test_a_restricted_pod_has_no_fault() -> None:
    assert faults(GOOD) == []


@each_case
def test_one_bad_field_is_named(path: str, value: Any, control: str) -> None:
    found = faults(changed(path, value))
    assert {fault.split(": ")[0] for fault in found} >= {control}


def test_a_container_may_say_itself_what_its_pod_leaves_open() -> None:
    pod = changed("securityContext.seccompProfile", None)
    pod["containers"][0]["securityContext"]["seccompProfile"] = {"type": "Localhost", "localhostProfile": "a.json"}
    assert faults(pod) == []


def test_pods_are_found_in_whatever_kind_describes_them() -> None:
    job = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": GOOD}}}}}
    group = {"workerGroupSpecs": [{"template": {"spec": GOOD}}], "headGroupSpec": {"template": {"spec": GOOD}}}
    assert list(pods(job)) == [GOOD]
    assert list(pods({"kind": "RayService", "spec": {"rayClusterConfig": group}})) == [GOOD, GOOD]
    assert list(pods({"kind": "Service", "spec": {}})) == []
