"""Runs Kubernetes' API server, controllers and scheduler on loopback."""

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.chart import tools
from tests.cluster.binaries import kubernetes

_PATIENCE_SECONDS = 120.0
# Longer than helm's own timeout, so that helm reports what it waited for.
_TOOL_SECONDS = 300.0
ADMIN, DEPLOYER = "admin", "deployer"
# Controllers that act within a namespace and need no cloud, certificate or machine.
_CONTROLLERS = "*,-nodeipam,-cloud-node-lifecycle,-service-lb-controller,-node-route-controller"


class ClusterFailed(Exception):
    """The message of the API server or a tool."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    folder: Path

    def kubeconfig(self, user: str = ADMIN) -> Path:
        return self.folder / f"{user}.kubeconfig"

    def command(self, program: str, *arguments: str, user: str = ADMIN) -> list[str]:
        return [str(tools.folder() / "bin" / program), f"--kubeconfig={self.kubeconfig(user)}", *arguments]

    def kubectl(self, *arguments: str, stdin: str | None = None, user: str = ADMIN) -> str:
        return _said(self.command("kubectl", *arguments, user=user), stdin)

    def helm(self, program: str, *arguments: str, user: str = ADMIN) -> str:
        return _said(self.command(program, *arguments, user=user), None)

    def create(self, documents: list[Any], *options: str, user: str = ADMIN) -> str:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        return self.kubectl("create", "--filename=-", *options, stdin=text, user=user)

    def items(self, kind: str, *options: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "--output=json", *options))["items"]
        return found


def _said(command: list[str], stdin: str | None) -> str:
    """Returns both outputs: the server's warnings go to standard error."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=_TOOL_SECONDS)
    if done.returncode != 0:
        program, _, *arguments = command
        raise ClusterFailed(f"{Path(program).name} {' '.join(arguments)}: {done.stderr.strip()[-3000:]}")
    return done.stdout + done.stderr


@contextlib.contextmanager
def running(folder: Path, *flags: str) -> Iterator[Cluster]:
    """Takes further flags for the server; the last of a name counts."""
    program = str(kubernetes())
    with contextlib.ExitStack() as stack:

        def start(part: str, *arguments: str) -> None:
            stack.enter_context(process(folder, part, [program, part, *arguments]))

        etcd, peers, port = (free_port() for _ in range(3))
        _write_etcd(folder, etcd, peers)
        start("etcd", str(folder / "etcd.yaml"))
        _write_identities(folder, port)
        start("apiserver", *_server_flags(folder, etcd, port), *flags)
        cluster = Cluster(folder=folder)
        until(lambda: cluster.kubectl("get", "--raw=/readyz", "--request-timeout=5s"))
        start("controllers", *_client_flags(cluster), *_controller_flags(folder))
        start("scheduler", *_client_flags(cluster))
        yield cluster


def _server_flags(folder: Path, etcd: int, port: int) -> list[str]:
    key = folder / "accounts.key"
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        # Nothing in the cluster looks up this endpoint, and loopback is not a valid address for it.
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://127.0.0.1",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
    ]


def _client_flags(cluster: Cluster) -> list[str]:
    """Writes the configuration of a single, unshared client of the server."""
    return [f"--kubeconfig={cluster.kubeconfig()}", "--leader-elect=false", "--secure-port=0"]


def _controller_flags(folder: Path) -> list[str]:
    return [
        f"--controllers={_CONTROLLERS}",
        f"--service-account-private-key-file={folder / 'accounts.key'}",
        f"--root-ca-file={folder / 'certificates' / 'apiserver.crt'}",
        # The default limits assume a server with other clients.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]


def _write_etcd(folder: Path, clients: int, peers: int) -> None:
    client, peer = (f"http://127.0.0.1:{port}" for port in (clients, peers))
    config = {
        "name": "only",
        "data-dir": str(folder / "etcd"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"only={peer}",
        "unsafe-no-fsync": True,
        "log-level": "warn",
    }
    (folder / "etcd.yaml").write_text(yaml.safe_dump(config), "utf-8")


def _write_identities(folder: Path, port: int) -> None:
    """Writes credentials for an administrator, and for a user without rights until one is bound."""
    subprocess.run(["openssl", "genrsa", "-out", folder / "accounts.key", "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f'{ADMIN},{ADMIN},1,"system:masters"\n{DEPLOYER},{DEPLOYER},2\n', "utf-8")
    for user in (ADMIN, DEPLOYER):
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": user}}],
            "clusters": [
                {"name": "here", "cluster": {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}}
            ],
            "users": [{"name": user, "user": {"token": user}}],
        }
        (folder / f"{user}.kubeconfig").write_text(yaml.safe_dump(config), "utf-8")


@contextlib.contextmanager
def process(
    folder: Path, name: str, command: list[str], environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    with (
        (folder / f"{name}.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as started,
    ):
        try:
            yield
        finally:
            started.kill()


def until(ask: Callable[[], object], seconds: float = _PATIENCE_SECONDS) -> None:
    """Retries until the cluster answers without an error and the assertions hold."""
    ends = time.monotonic() + seconds
    while True:
        try:
            ask()
        except (ClusterFailed, AssertionError):
            if time.monotonic() > ends:
                raise
            time.sleep(0.5)
        else:
            return


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
