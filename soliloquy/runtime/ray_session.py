"""Starts Ray on this machine, or joins a cluster."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc

from soliloquy.runtime.failure import Failure, one_line

# Read by Ray when it starts; variables that are already set take precedence.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_COLOR_PREFIX": "0",
    # Workers import the same checkout as the driver.
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
}
# Without a cluster its processes listen on loopback only, on every system, whatever the name says.
_LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_HOST_AND_PORT = re.compile(r"[^/]+:\d+")
_ANSWER_SECONDS = 5


@contextmanager
def ray_session(address: str | None, *, cpus: int, store_bytes: int, folder: Path | None = None) -> Iterator[None]:
    """Joins the cluster at the address, or starts one of this machine, with its files in `folder`; raises Failure."""
    # Ray knows other forms of an address, such as "auto".
    if address and _HOST_AND_PORT.fullmatch(address):
        _require_answer(address)
    for name, value in {**ENVIRONMENT, **({} if address else _LOCAL)}.items():
        os.environ.setdefault(name, value)
    # Ray reads some of them when it is imported.
    import ray

    own: dict[str, Any] = {"include_dashboard": False, "num_cpus": cpus, "object_store_memory": store_bytes}
    with ExitStack() as stack:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            stack.callback(os.close, handle := os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            # Sockets have paths of at most 107 characters.
            own["_temp_dir"] = f"/proc/{os.getpid()}/fd/{handle}"
        # Also what it has started when Ctrl-C comes.
        stack.callback(ray.shutdown)
        try:
            told = {"log_to_driver": False, "logging_level": logging.ERROR, **({} if address else own)}
            ray.init(address=address or "local", **told)
        except Exception as error:  # Ray raises no specific type
            if isinstance(error, OSError) and error.errno:
                raise
            advice = ": is RAY_AUTH_TOKEN the cluster's token?" if address else ""
            raise Failure(f"Ray does not start: {one_line(error)}{advice}") from error
        yield


def _require_answer(address: str) -> None:
    """Ray itself would try for many minutes, and print pages."""
    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(_ANSWER_SECONDS)
        except grpc.FutureTimeoutError:
            told = f"no Ray cluster answers at {address}"
            raise Failure(f"{told}: start its head with ray start --head, or leave out the address") from None
