"""An API server on this machine's loopback, with RBAC and the usual admission; nothing schedules or runs pods."""

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.chart import tools
from tests.cluster.binaries import kubernetes

# Without the controllers there are no service accounts, priority classes or runtime classes of the cluster's own.
_WITHOUT = "ServiceAccount,Priority,RuntimeClass"
_START_SECONDS = 300.0
ADMIN, DEPLOYER = "admin", "deployer"


class ClusterFailed(Exception):
    """What the API server or a tool said."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    folder: Path

    def kubeconfig(self, user: str = ADMIN) -> Path:
        return self.folder / f"{user}.kubeconfig"

    def kubectl(self, *arguments: str, stdin: str | None = None, user: str = ADMIN) -> str:
        return self._tool("kubectl", [f"--kubeconfig={self.kubeconfig(user)}", *arguments], stdin)

    def helm(self, program: str, *arguments: str, user: str = ADMIN) -> str:
        return self._tool(program, [f"--kubeconfig={self.kubeconfig(user)}", *arguments], None)

    def create(self, documents: list[Any], *options: str, user: str = ADMIN) -> str:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        return self.kubectl("create", "--filename=-", *options, stdin=text, user=user)

    def _tool(self, program: str, arguments: list[str], stdin: str | None) -> str:
        """Both of what it said: warnings of the server are on standard error."""
        command = [str(tools.folder() / "bin" / program), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise ClusterFailed(f"{program} {' '.join(arguments[1:])}: {done.stderr.strip()[-3000:]}")
        return done.stdout + done.stderr


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    program = kubernetes()
    with contextlib.ExitStack() as stack:
        etcd, peers, port = (_free_port() for _ in range(3))
        _write_etcd(folder, etcd, peers)
        stack.enter_context(_process(folder, "etcd", [str(program), "etcd", str(folder / "etcd.yaml")]))
        _write_identities(folder, port)
        stack.enter_context(_process(folder, "apiserver", [str(program), "apiserver", *_flags(folder, etcd, port)]))
        cluster = Cluster(folder=folder)
        until(lambda: cluster.kubectl("get", "--raw=/readyz", "--request-timeout=5s"))
        yield cluster


def _flags(folder: Path, etcd: int, port: int) -> list[str]:
    key = folder / "accounts.key"
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        # Nothing in the cluster looks for it, and loopback is no address that it could be found at.
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--disable-admission-plugins={_WITHOUT}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://127.0.0.1",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
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
    """An administrator, and a user who has no right until one is bound to it."""
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
def _process(folder: Path, name: str, command: list[str]) -> Iterator[None]:
    with (folder / f"{name}.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.kill()


def until(ask: Callable[[], str]) -> None:
    """Until the cluster answers without an error."""
    ends = time.monotonic() + _START_SECONDS
    while True:
        try:
            ask()
        except ClusterFailed:
            if time.monotonic() > ends:
                raise
            time.sleep(0.5)
        else:
            return


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
