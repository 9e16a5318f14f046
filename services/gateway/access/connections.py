"""Limits connections to the gateway's ports, and reserves room for callers who were admitted.

Neither gRPC nor a TLS handshake of asyncio reports a connection before its first request. We therefore look at the
sockets of this process, and close those that are too many or have waited too long without an admitted call.
"""

import asyncio
import logging
import os
import resource
import socket
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from soliloquy.runtime.metrics import counter, gauge
from soliloquy_services.gateway.access.rate import rate_key

OPEN = gauge("soliloquy_gateway_connections")
CLOSED = counter("soliloquy_gateway_connections_closed_total")
LOOK_SECONDS = 0.05
# While connections without an admitted call fill more than half of their room: gRPC refuses everyone once it is full.
BUSY_LOOK_SECONDS = 0.01
# How long an admitted call counts for a connection that no look has found.
UNSEEN_SECONDS = 1.0
LOG_SECONDS = 10.0
# Half of a larger surplus leaves with each look.
CLOSED_AT_ONCE = 16
# Descriptors for everything but connections: Kafka, the log, the index, downloads.
SPARE_DESCRIPTORS = 128
MOST_CONNECTIONS = 8_000
# A flood may bring so many in less time than that.
LOOK_CONNECTIONS = 64

_log = logging.getLogger(__name__)


class Peer(NamedTuple):
    # "http" or "grpc": a caller may use one port of its own for both.
    service: str
    # As calls from it are counted.
    address: str
    port: int


def peer_at(service: str, address: str, port: int) -> Peer:
    return Peer(service, rate_key(address), port)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionLimits:
    """The most connections: in all, over gRPC, and on each port without an admitted call."""

    total: int
    grpc: int
    strangers: int
    # How long a connection may last without an admitted call.
    stranger_seconds: float = 30.0


def usual_limits() -> ConnectionLimits:
    """Raises the limit of open files as far as it goes, and shares what it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SPARE_DESCRIPTORS + MOST_CONNECTIONS
    if soft < wanted:
        soft = min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    total = max(8, min(soft, wanted) - SPARE_DESCRIPTORS)
    return ConnectionLimits(total=total, grpc=15 * total // 16, strangers=total // 2)


class Connections:
    """Knows which connections carried an admitted call, and which ones must go."""

    def __init__(self, limits: ConnectionLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits or usual_limits()
        # Whether those without an admitted call fill more than half of their room on a port.
        self.crowded = False
        self._clock = clock
        self._since: dict[Peer, float] = {}
        self._admitted: dict[Peer, float] = {}

    def admitted(self, peer: Peer) -> None:
        self._admitted[peer] = self._clock()

    def surplus(self, peers: Iterable[Peer]) -> dict[Peer, str]:
        """Returns the connections to close, with the reason, of all that are open."""
        now = self._clock()
        self._since = {peer: self._since.get(peer, now) for peer in peers}
        # An admitted call may be younger than the list of connections.
        self._admitted = {
            peer: at for peer, at in self._admitted.items() if peer in self._since or now - at < UNSEEN_SECONDS
        }
        strangers = sorted(self._since.keys() - self._admitted.keys(), key=lambda peer: self._since[peer])
        self._export(strangers)
        closing = {peer: "late" for peer in strangers if now - self._since[peer] > self.limits.stranger_seconds}
        for service in ("http", "grpc"):
            there = [peer for peer in strangers if peer.service == service and peer not in closing]
            closing |= dict.fromkeys(_beyond(self.limits.strangers, there), "strangers")
        if len(self._since) - len(closing) > self.limits.total:
            # Strangers leave first, and then the newest of the others.
            admitted = sorted(self._admitted.keys() & self._since.keys(), key=lambda peer: -self._since[peer])
            leaving = [*_by_turn(strangers), *admitted]
            left = [peer for peer in leaving if peer not in closing]
            closing |= dict.fromkeys(left[: len(left) - self.limits.total], "total")
        return closing

    def _export(self, strangers: Collection[Peer]) -> None:
        every, unknown = (Counter(peer.service for peer in peers) for peers in (self._since, strangers))
        self.crowded = any(2 * number > self.limits.strangers for number in unknown.values())
        for service in ("http", "grpc"):
            OPEN.labels(service, "stranger").set(unknown[service])
            OPEN.labels(service, "admitted").set(every[service] - unknown[service])


class ConnectionWatch:
    """Closes the surplus among the sockets of this process."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        # The name of the service on each port.
        self._services: dict[int, str] = {}
        self._accepted = 0
        # For each descriptor its inode, and whom it connects to; None for anything else.
        self._known: dict[int, tuple[int, Peer | None]] = {}
        # Closing needs a descriptor when there is none left.
        self._spare = os.open(os.devnull, os.O_RDONLY)
        # Shut down, and not yet closed by their server.
        self._shut: set[Peer] = set()
        self._closed: Counter[tuple[str, str]] = Counter()
        self._logged_at = 0.0

    def add(self, service: str, address: str) -> None:
        """Watches the port of a bound address."""
        self._services[int(address.rpartition(":")[2])] = service

    def accepted(self) -> None:
        """Looks early when many connections come at once."""
        self._accepted += 1
        if self._accepted >= LOOK_CONNECTIONS:
            self.look()

    async def watch(self) -> None:
        try:
            # Neither server tells when a connection comes.
            while True:
                self.look()
                await asyncio.sleep(BUSY_LOOK_SECONDS if self._connections.crowded else LOOK_SECONDS)
        finally:
            os.close(self._spare)

    def look(self) -> None:
        self._accepted = 0
        self._known = {fd: known for fd in _descriptors() if (known := self._look_at(fd))}
        places = {peer: fd for fd, (_, peer) in self._known.items() if peer}
        self._shut &= places.keys()
        surplus = self._connections.surplus(places.keys() - self._shut)
        for peer, reason in surplus.items():
            self._close(places[peer])
            self._shut.add(peer)
            CLOSED.labels(peer.service, reason).inc()
            self._closed[peer.address, peer.service] += 1
        self._log()

    def _look_at(self, fd: int) -> tuple[int, Peer | None] | None:
        try:
            status = os.fstat(fd)
        except OSError:
            return None
        known = self._known.get(fd)
        if known and known[0] == status.st_ino:
            return known
        return status.st_ino, self._peer(fd) if stat.S_ISSOCK(status.st_mode) else None

    def _peer(self, fd: int) -> Peer | None:
        try:
            connection = socket.socket(fileno=fd)
        except OSError:
            return None
        try:
            name = self._services.get(connection.getsockname()[1]) if connection.family != socket.AF_UNIX else None
            return peer_at(name, *connection.getpeername()[:2]) if name else None
        except OSError:
            # It listens, or has just been closed.
            return None
        finally:
            connection.detach()

    def _close(self, fd: int) -> None:
        """Shuts the connection down; its server then closes it."""
        inode, _ = self._known[fd]
        try:
            # gRPC's threads may close the descriptor meanwhile, and another file may take its number.
            os.dup2(fd, self._spare)
            if os.fstat(self._spare).st_ino == inode:
                connection = socket.socket(fileno=self._spare)
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                finally:
                    connection.detach()
        except OSError:
            _log.debug("a connection was closed before we closed it")

    def _log(self) -> None:
        now = time.monotonic()
        if self._closed and now - self._logged_at >= LOG_SECONDS:
            self._logged_at = now
            [((address, service), number)] = self._closed.most_common(1)
            _log.warning(
                "closed %d connections without a token, %d of them from %s to %s",
                *(self._closed.total(), number, address, service),
            )
            self._closed.clear()


def _beyond(limit: int, peers: list[Peer]) -> list[Peer]:
    surplus = len(peers) - limit
    # Connections that are closed together come back together, which gRPC has less room for.
    return _by_turn(peers)[: max(CLOSED_AT_ONCE, surplus // 2)][:surplus] if surplus > 0 else []


def _by_turn(peers: list[Peer]) -> list[Peer]:
    """Returns them in the order in which they leave: the oldest of the address that has the most.

    A flood from one address therefore closes no connection of another.
    """
    newer: Counter[str] = Counter()
    ranked = []
    for place, peer in enumerate(reversed(peers)):
        ranked.append((newer[peer.address], place, peer))
        newer[peer.address] += 1
    return [peer for _, _, peer in sorted(ranked, reverse=True)]


def _descriptors() -> Iterable[int]:
    try:
        # pathlib takes longer than all else of a look.
        return [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
    except OSError:
        # No descriptor is left to list them with.
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
