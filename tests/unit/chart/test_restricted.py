import copy
from typing import Any

import pytest

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
OF_A_CONTAINER = "containers.0.securityContext"


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


@pytest.mark.parametrize(
    ("path", "value", "control"),
    [
        ("hostNetwork", True, "host namespaces"),
        ("hostPID", True, "host namespaces"),
        ("hostIPC", True, "host namespaces"),
        ("volumes", [{"name": "node", "hostPath": {"path": "/"}}], "volume types"),
        ("volumes", [{"name": "node", "nfs": {"server": "a", "path": "/"}}], "volume types"),
        ("containers.0.ports", [{"containerPort": 1, "hostPort": 80}], "host ports"),
        ("containers.0.readinessProbe", {"httpGet": {"host": "169.254.169.254"}}, "hosts of probes and hooks"),
        ("containers.0.lifecycle", {"preStop": {"httpGet": {"host": "a"}}}, "hosts of probes and hooks"),
        ("securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}], "sysctls"),
        ("securityContext.runAsUser", 0, "running as root"),
        ("securityContext.runAsNonRoot", None, "running as non-root"),
        ("securityContext.runAsNonRoot", False, "running as non-root"),
        ("securityContext.seccompProfile", None, "seccomp"),
        ("securityContext.seccompProfile.type", "Unconfined", "seccomp"),
        ("securityContext.appArmorProfile", {"type": "Unconfined"}, "AppArmor"),
        ("securityContext.seLinuxOptions", {"type": "spc_t"}, "SELinux type"),
        ("securityContext.seLinuxOptions", {"user": "system_u"}, "SELinux user and role"),
        ("securityContext.windowsOptions", {"hostProcess": True}, "Windows HostProcess"),
        (f"{OF_A_CONTAINER}.privileged", True, "privileged containers"),
        (f"{OF_A_CONTAINER}.allowPrivilegeEscalation", None, "privilege escalation"),
        (f"{OF_A_CONTAINER}.allowPrivilegeEscalation", True, "privilege escalation"),
        (f"{OF_A_CONTAINER}.capabilities.drop", ["NET_RAW"], "capabilities dropped"),
        (f"{OF_A_CONTAINER}.capabilities", None, "capabilities dropped"),
        (f"{OF_A_CONTAINER}.capabilities.add", ["SYS_ADMIN"], "capabilities"),
        (f"{OF_A_CONTAINER}.procMount", "Unmasked", "/proc mount type"),
        (f"{OF_A_CONTAINER}.runAsUser", 0, "running as root"),
        (f"{OF_A_CONTAINER}.runAsNonRoot", False, "running as non-root"),
        (f"{OF_A_CONTAINER}.seccompProfile", {"type": "Unconfined"}, "seccomp"),
        ("initContainers", [{"name": "first", "securityContext": {}}], "privilege escalation"),
        ("ephemeralContainers", [{"name": "look", "securityContext": {"privileged": True}}], "privileged containers"),
    ],
)
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
