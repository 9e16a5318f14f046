"""Claims ports for one model service: Ray shares those of another service on the host without an error."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.listening import CannotListen, listening

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
