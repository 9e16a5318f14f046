"""Runs a Ray cluster of a head and a worker, each on a host of its own, and a Redis that keeps what the head knows."""

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from soliloquy_services.model.serving import ENVIRONMENT, FAST
from tests.kafka import processes
from tests.kafka.network import Network

# On a busy machine Ray, torch and transformers import for minutes.
START_SECONDS = 1200.0
GRPC_PORT, HTTP_PORT = 9000, 8000
_REDIS, _HEAD, _WORKER = 1, 2, 3
# Of Redis and of what Ray had in its place, and of the head's dashboard, to which KubeRay speaks.
_PORT, _DASHBOARD_PORT = 6379, 8265
_PASSWORD = "of the store"
_TOKEN = "0123456789abcdef" * 4
_AUTHENTICATION = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _TOKEN}
# Debian's package has the program's name.
_SERVER = "redis-server"
_RAY = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-gpus", "0"]
_MEMORY = ["--object-store-memory", str(200 * 1024**2)]
# On a busy machine a raylet ends before its agents have chosen ports of their own.
_AGENTS = {
    "dashboard-agent-grpc": 52364,
    "dashboard-agent-listen": 52365,
    "runtime-env-agent": 52366,
    "metrics-export": 8080,
}
_PORTS = [f"--{agent}-port={port}" for agent, port in _AGENTS.items()]
# Ends all of a host with its first process, as a container ends; hosts of one machine would meet in these folders.
_HOST = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec"]
_SHARED = ("ray", "haproxy-serve")
_ENTER = f'for name in {" ".join(_SHARED)}; do mount --bind "$0/$name" "/tmp/$name"; done; exec "$@"'


class RayCluster:
    """What KubeRay makes of the chart's RayService with `modelService.head.redis`. Needs root."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._network = Network(folder, range(_REDIS, _WORKER + 1))
        self._commands: dict[int, list[str]] = {}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        if shutil.which(_SERVER) is None:
            subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", _SERVER], check=True)
        self._network.open()
        redis = ["--bind", self._network.host(_REDIS), "--requirepass", _PASSWORD, "--save", ""]
        self._start(_REDIS, [_SERVER, *redis, "--dir", str(self._folder)])
        self.start_head()
        # As KubeRay has it, a worker waits ten minutes for the next head.
        self._start_ray(
            _WORKER,
            ["--address", f"{self._network.host(_HEAD)}:{_PORT}", "--num-cpus", "1"],
            {"RAY_gcs_rpc_server_reconnect_timeout_s": "600"},
        )
        return self

    def __exit__(self, *_: object) -> None:
        for node in sorted(self._processes, reverse=True):
            self._kill(node)
        self._network.close()

    def start_head(self) -> None:
        """Starts a head that runs no replica and keeps what it knows in the Redis, under its cluster's name."""
        address = self._network.host(_HEAD)
        known = {
            "RAY_REDIS_ADDRESS": f"{self._network.host(_REDIS)}:{_PORT}",
            "RAY_external_storage_namespace": "this-cluster",
        }
        command = ["--head", "--port", str(_PORT), "--num-cpus", "0", "--dashboard-host", address]
        self._start_ray(_HEAD, [*command, "--redis-password", _PASSWORD], known)

    def kill_head(self) -> None:
        self._kill(_HEAD)

    def deploy(self, configuration: Mapping[str, Any]) -> None:
        """Hands Ray Serve its configuration, as KubeRay does."""
        self._call("PUT", json.dumps(configuration).encode())

    def application(self, name: str) -> dict[str, Any] | None:
        """Returns what the head tells of an application; None while there is no head or it knows of none."""
        self._restart_ended()
        try:
            found: dict[str, Any] | None = json.loads(self._call("GET"))["applications"].get(name)
        except OSError:
            return None
        return found

    @property
    def address(self) -> str:
        """The worker's own proxy."""
        return f"{self._network.host(_WORKER)}:{GRPC_PORT}"

    def _call(self, method: str, body: bytes | None = None) -> bytes:
        url = f"http://{self._network.host(_HEAD)}:{_DASHBOARD_PORT}/api/serve/applications/"
        headers = {"content-type": "application/json", "authorization": f"Bearer {_TOKEN}"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=120) as answer:
            content: bytes = answer.read()
            return content

    def said(self) -> str:
        return "\n".join(file.read_text("utf-8", "replace")[-2000:] for file in sorted(self._folder.glob("*.log")))

    def _start_ray(self, node: int, arguments: list[str], environment: Mapping[str, str]) -> None:
        own = self._folder / str(node)
        for name in _SHARED:
            (own / name).mkdir(parents=True, exist_ok=True)
            Path("/tmp", name).mkdir(exist_ok=True)
        known = ENVIRONMENT | FAST | _AUTHENTICATION | dict(environment) | {"OMP_NUM_THREADS": "1"}
        command = ["env", *(f"{name}={value}" for name, value in known.items()), *_RAY, *_MEMORY, *_PORTS]
        command += ["--node-ip-address", self._network.host(node), *arguments]
        self._start(node, [*_HOST, _ENTER, str(own), *command])

    def _start(self, node: int, command: list[str]) -> None:
        self._commands[node] = [*self._network.prefix(node), *command]
        self._processes[node] = processes.start(self._commands[node], self._folder / f"host-{node}.log")

    def _restart_ended(self) -> None:
        """Restarts a host that has ended, as a kubelet does: on a busy machine Ray gives up a start after 30 s."""
        for node, process in self._processes.items():
            if process.poll() is not None:
                self._processes[node] = processes.start(self._commands[node], self._folder / f"host-{node}.log")

    def _kill(self, node: int) -> None:
        process = self._processes.pop(node)
        process.kill()
        process.wait()
