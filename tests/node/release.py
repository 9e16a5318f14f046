"""Installs the chart on the node and drives runs through its gateway."""

import contextlib
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from tests.chart.render import CHART
from tests.cluster.control_plane import Cluster, until
from tests.images import registry
from tests.node import images
from tests.node.node import ADDRESS, NAME, Node
from tests.unit.collector.collecting import conversations_in

RELEASE, NAMESPACE = "lab", "tutoring"
SERVICES = ("curriculum", "planner", "student", "tutor", "codegen", "composer", "executor", "collector", "gateway")
TOKEN = "of-this-test-alone"
_VOLUME_SIZE = "512m"
_HELM = "helm4"
# Eight services with one pod each start at once on whatever cores there are.
_WAIT = "--timeout=20m"
_RUN_SECONDS = 900.0
_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")


@dataclass(frozen=True, kw_only=True)
class Release:
    cluster: Cluster
    node: Node
    kafka: str
    namespace: str = NAMESPACE
    # Begins the names of topics and groups, where two releases share a Kafka.
    prefix: str = ""

    @property
    def volume(self) -> Path:
        return self.node.state / "volumes" / self.namespace

    @property
    def token(self) -> Path:
        return self.cluster.folder / "token"

    def prepare(self) -> None:
        """Creates what an operator prepares: a namespace that admits restricted pods only, a volume, tokens."""
        self.volume.mkdir(parents=True)
        # A file system of its own, which can be full while the node's is not.
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_VOLUME_SIZE}", "tmpfs", self.volume], check=True)
        self.token.write_text(TOKEN, "utf-8")
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        tokens = f'[[token]]\nname = "tests"\nrole = "operator"\nsha256 = "{digest}"\n'
        wanted = [
            _namespace(self.namespace),
            _storage_class(self.namespace),
            _volume(self.namespace, self.volume, "20Gi"),
            _secret(self.namespace, tokens),
        ]
        self.cluster.create(wanted)

    def prepare_volumes(self) -> None:
        """Creates what a bare cluster has: a default storage class. The namespace, Helm makes."""
        standard = _storage_class(self.namespace)
        standard["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
        # By their sizes the claims find them.
        sizes = {self.volume / "collector": "1Gi", self.volume / "kafka": "10Gi"}
        for place in sizes:
            place.mkdir(parents=True)
        volumes = [_volume(self.namespace, place, size) for place, size in sizes.items()]
        self.cluster.create([standard, *volumes])

    def try_out(self) -> None:
        """Installs by the command of the chart's page, with this node's registry and address of names."""
        settings = [*todays_images(), f"images.kafka.repository={images.KAFKA}"]
        settings += [f"networkPolicy.dns[0].ipBlock.cidr={ADDRESS}/32"]
        flags = [f"--set={setting}" for setting in settings]
        profile = f"--values={CHART / 'values-dev.yaml'}"
        self.helm("install", RELEASE, str(CHART), "--create-namespace", profile, *flags, "--wait", "--timeout=15m")

    def install(self, chart: Path = CHART, *images_of: str) -> None:
        """Takes settings that name the images; without any, they are today's."""
        # A run must outlast the disruption, with immediate answers.
        settings = ["dataset.shardSeconds=5s", "defaults.env[0].name=SOLILOQUY_LATENCY", "defaults.env[0].value=50ms"]
        settings += [f"kafka.bootstrap={self.kafka}", f"kafka.prefix={self.prefix}", "topics.replication=1"]
        if chart == CHART:
            settings += ["kafka.development.enabled=false"]
        settings += ["gateway.tokens.existingSecret=tokens", f"networkPolicy.dns[0].ipBlock.cidr={ADDRESS}/32"]
        settings += [f"dataset.persistence.storageClass={self.namespace}"]
        flags = [f"--set={setting}" for setting in (*settings, *(images_of or todays_images()))]
        self.helm("install", RELEASE, str(chart), f"--values={chart / 'values-dev.yaml'}", *flags, "--wait", _WAIT)

    def upgrade(self, *settings: str) -> None:
        flags = [f"--set={setting}" for setting in settings]
        self.helm("upgrade", RELEASE, str(CHART), "--reset-then-reuse-values", *flags, "--wait", _WAIT)

    def rollback(self) -> None:
        self.helm("rollback", RELEASE, "--wait", _WAIT)

    def helm(self, *arguments: str) -> str:
        return said(self.cluster.command(_HELM, *arguments, f"--namespace={self.namespace}"))

    def kubectl(self, *arguments: str) -> str:
        return said(self.cluster.command("kubectl", f"--namespace={self.namespace}", *arguments))

    @property
    def notes(self) -> str:
        return self.helm("get", "notes", RELEASE)

    def object(self, *what: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *what, "--output=json"))
        return found

    def pods(self, service: str) -> list[dict[str, Any]]:
        """Returns the pods that are not ending."""
        found: list[dict[str, Any]] = self.object("pods", f"--selector=app.kubernetes.io/component={service}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def pod(self, service: str) -> str:
        [pod] = self.pods(service)
        return str(pod["metadata"]["name"])

    def inside(self, service: str, *words: str) -> str:
        return self.kubectl("exec", self.pod(service), "--", *words)

    def ready(self, service: str) -> None:
        """Returns when its only pod consumes."""
        until(lambda: self._assert_ready(service), seconds=_RUN_SECONDS)

    def kill(self, service: str) -> None:
        """Sends SIGKILL to the container as the node's root."""
        [pod] = self.pods(service)
        [status] = pod["status"]["containerStatuses"]
        container = status["containerID"].removeprefix("containerd://")
        self.node.ctr("tasks", "kill", "--signal=SIGKILL", container)
        until(lambda: self._assert_started_anew(service, container), seconds=_RUN_SECONDS)

    def delete(self, service: str) -> float:
        """Evicts the pod as a drain does; returns the seconds until it is gone."""
        started = time.monotonic()
        self.kubectl("delete", "pod", self.pod(service), "--timeout=10m")
        return time.monotonic() - started

    def start(self, *, conversations: int, seed: int, in_flight: int = 6) -> "Run":
        wanted = [f"--conversations={conversations}", f"--seed={seed}", f"--in-flight={in_flight}"]
        told = self.soliloquy("runs", "start", "--problems=physics", *wanted, *self.reach())
        return Run(release=self, id=told.strip(), conversations=conversations)

    def soliloquy(self, *arguments: str) -> str:
        return said([*_SOLILOQUY, *arguments])

    @property
    def gateway(self) -> str:
        address = self.object(f"service/{RELEASE}-soliloquy-gateway")["spec"]["clusterIP"]
        return f"{address}:8081"

    def reach(self) -> list[str]:
        return [f"--gateway={self.gateway}", f"--token-file={self.token}"]

    def _assert_ready(self, service: str) -> None:
        [pod] = self.pods(service)
        assert all(status["ready"] for status in pod["status"].get("containerStatuses", [{"ready": False}])), service

    def _assert_started_anew(self, service: str, container: str) -> None:
        [pod] = self.pods(service)
        [status] = pod["status"]["containerStatuses"]
        assert status["restartCount"] > 0, service
        assert container not in status.get("containerID", ""), service


@dataclass(frozen=True, kw_only=True)
class Run:
    release: Release
    id: str
    conversations: int

    @property
    def state(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(
            self.release.soliloquy("runs", "show", self.id, "--json", *self.release.reach())
        )
        return shown

    @property
    def accepted(self) -> int:
        return int(self.state["progress"]["accepted"])

    def reach(self, conversations: int) -> None:
        self._until(lambda: self.accepted >= conversations)

    def finish(self) -> None:
        """Returns when the run has ended with the requested number of intact conversations on the volume."""
        self._until(lambda: self.state["state"] != "RUN_STATE_RUNNING")
        assert self.state["state"] == "RUN_STATE_FINISHED", self.state
        assert self.accepted == self.conversations
        self.written(self.conversations)

    def written(self, conversations: int) -> None:
        """Returns when so many intact conversations are on the volume, and no more."""
        # A shard is written when it is full, or some seconds after its first conversation.
        self._until(lambda: len(conversations_in(Storage(self.folder))) >= conversations)
        assert len(whole(self.folder)) == conversations

    @property
    def folder(self) -> Path:
        [folder] = self.release.volume.glob(f"{self.id.partition('-')[0]}*")
        return folder

    def _until(self, there: Callable[[], bool]) -> None:
        """Tolerates a gateway that is away for a while."""
        ends = time.monotonic() + _RUN_SECONDS
        while True:
            with contextlib.suppress(Refused):
                if there():
                    return
            assert time.monotonic() < ends, f"run {self.id} is not there after {_RUN_SECONDS:g} s"
            time.sleep(0.5)


def whole(folder: Path) -> set[str]:
    """Reads the conversations of a dataset that verifies and holds no duplicates."""
    assert list(findings(Storage(folder))) == []
    kept = [conversation.id for conversation in conversations_in(Storage(folder))]
    assert len(kept) == len(set(kept))
    return set(kept)


class Refused(Exception):
    """The message of a tool."""


def said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(f"{' '.join(command[1:])}: {(done.stderr or done.stdout).strip()[-3000:]}")
    return done.stdout


def todays_images() -> list[str]:
    """Returns the settings that name the images as they are here."""
    digests = [f"images.{name}.digest={digest}" for name, digest in images.digests().items()]
    return [f"global.imageRegistry={registry.HOST}", *digests]


def _namespace(name: str) -> dict[str, Any]:
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _storage_class(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _volume(storage_class: str, folder: Path, size: str) -> dict[str, Any]:
    here = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}]}
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "local": {"path": str(folder)},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": folder.name}, "spec": spec}


def _secret(namespace: str, tokens: str) -> dict[str, Any]:
    named = {"name": "tokens", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": named, "stringData": {"tokens.toml": tokens}}
