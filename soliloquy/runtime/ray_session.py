"""Starts Ray on this machine, or joins a cluster."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soliloquy.runtime.failure import Failure, one_line

# Read by Ray when it starts; variables that are already set take precedence.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_COLOR_PREFIX": "0",
    # Workers import the same checkout as the driver.
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
}
# On every system, not only those that it is named for: Ray's processes on this machine listen on loopback only.
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_ANSWER_SECONDS = 5


@contextmanager
def ray_session(address: str | None, *, cpus: int, store_bytes: int, folder: Path | None = None) -> Iterator[None]:
    """Joins the cluster at the address, or starts one of this machine, with its files in `folder`; raises Failure."""
    if address:
        _require_answer(address)
    for name, value in {**ENVIRONMENT, **({} if address else _LOOPBACK)}.items():
        os.environ.setdefault(name, value)
    import ray

    handle = None
    own: dict[str, Any] = {"include_dashboard": False, "num_cpus": cpus, "object_store_memory": store_bytes}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        # Sockets have paths of at most 107 characters.
        own["_temp_dir"] = f"/proc/{os.getpid()}/fd/{handle}"
    try:
        ray.init(
            address=address or "local",
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if address else own),
        )
    except Exception as error:  # Ray raises no specific type
        raise Failure(f"Ray does not start: {one_line(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()
        if handle is not None:
            os.close(handle)


def _require_answer(address: str) -> None:
    """Ray itself would try for a minute, and print a page."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
    except OSError as error:
        told = f"no Ray cluster answers at {address} ({error.strerror or error})"
        raise Failure(f"{told}: start its head with ray start --head, or leave out the address") from error
