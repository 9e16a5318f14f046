"""A Kafka cluster on this machine, whose nodes a test can kill, stop, disconnect and restart."""

import contextlib
import random
import socket
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kafka import processes
from tests.kafka.certificates import Certificate
from tests.kafka.network import Network
from tests.kafka.node import Address, KafkaFailed, Node
from tests.kafka.security import AUTHORIZER, PROTOCOLS, Certificates, Password
from tests.kafka.tokens import TokenAuthority

HOST = "127.0.0.1"
# Below the ephemeral ports: an outgoing connection could take the port of a stopped node.
_PORTS = range(20000, 32000)
_PORT_TAKEN = "Address already in use"
_PORT_TRIES = 3
_START_SECONDS = 60.0
_STOP_SECONDS = 15.0
# Nodes that stop together wait for a quorum that is gone too.
_STOP_ALL_SECONDS = 2.0


class KafkaCluster:
    """Every node is a broker and a controller. With three nodes, records are on all and acknowledged by two.

    Node n listens on port + n - 1, or on a free port if `port` is None. Only nodes in namespaces can be
    disconnected, which need root. A restarted cluster keeps its data. With an authorizer, `client_certificate` is the
    only client that may do everything. With `tokens`, SASL takes those of the authority in place of passwords.
    """

    def __init__(
        self,
        folder: Path,
        *,
        brokers: int = 1,
        security: str = "PLAINTEXT",
        client_auth: bool = False,
        authorizer: bool = False,
        tokens: TokenAuthority | None = None,
        namespaces: bool = False,
        heap: str = "512m",
        port: int | None = None,
    ) -> None:
        assert security in PROTOCOLS, f"security is {security!r}, not one of {', '.join(PROTOCOLS)}"
        self._folder = folder
        self._brokers = range(1, brokers + 1)
        self._security = security
        self._client_auth = client_auth
        self._authorizer = authorizer
        self._tokens = tokens
        self._heap = heap
        self._port = port
        # An id that starts with "-" would be parsed as an option.
        self._id = "s" + urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]
        self._nodes: dict[int, Node] = {}
        self._network = Network(folder, self._brokers) if namespaces else None
        self._cut: set[int] = set()
        self._user = Password()
        self._certificates: Certificates | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{node.address.host}:{node.address.client}" for node in self._nodes.values())

    @property
    def pids(self) -> dict[int, int]:
        """Returns the process ids of the running nodes."""
        return {node.id: node.process.pid for node in self._nodes.values() if node.process is not None}

    @property
    def username(self) -> str:
        return self._user.username

    @property
    def password(self) -> str:
        return self._user.password

    @property
    def ca_file(self) -> Path:
        return self._tls.ca_file

    @property
    def client_certificate(self) -> Path:
        return self._tls.client.certificate

    @property
    def client_key(self) -> Path:
        return self._tls.client.key

    def certificate(self, name: str) -> Certificate:
        """Returns a client's certificate: with an authorizer, it is the user CN=soliloquy-test-NAME."""
        return self._tls.authority.sign("client", name=name)

    def start(self) -> None:
        """Returns when every node answers and knows all others."""
        with contextlib.ExitStack() as undo:
            undo.callback(self.stop)
            if self._network is not None:
                self._network.open()
            for left in reversed(range(_PORT_TRIES)):
                try:
                    self._place()
                    self._configure()
                    self._format()
                    self.start_node(*self._nodes)
                    break
                except KafkaFailed as error:
                    if left == 0 or self._port is not None or _PORT_TAKEN not in str(error):
                        raise
                    self._end_all()
            undo.pop_all()

    def stop(self) -> None:
        self._end_all()
        self._cut.clear()
        if self._network is not None:
            self._network.close()

    def start_node(self, *nodes: int) -> None:
        """Returns when the nodes answer and know every connected node."""
        for node in nodes:
            self._nodes[node].start()
        reachable = self.pids.keys() - self._cut
        deadline = time.monotonic() + _START_SECONDS
        for node in nodes:
            while not (self.alive(node) >= reachable and self._nodes[node].is_started()):
                if time.monotonic() > deadline:
                    said = self._nodes[node].complaints()
                    raise KafkaFailed(f"node {node} was not ready within {_START_SECONDS:g} s: {said}")
                time.sleep(0.05)

    def stop_node(self, node: int) -> None:
        """Sends SIGTERM, so that the node hands over its partitions first."""
        process = self._nodes[node].process
        assert process is not None, f"node {node} is down already"
        processes.end([process], seconds=_STOP_SECONDS)

    def restart(self, node: int) -> None:
        """Restarts a node, running or not."""
        if node in self.pids:
            self.stop_node(node)
        self.start_node(node)

    def kill(self, node: int) -> None:
        self._nodes[node].kill()

    def lose_data(self, node: int) -> None:
        """Takes everything that a node holds; it has to be down."""
        self._nodes[node].lose_data()
        self._format()

    def cut(self, node: int) -> None:
        """Disconnects a running node from its peers and clients."""
        self._cables.cut(node)
        self._cut.add(node)

    def mend(self, node: int) -> None:
        self._cables.mend(node)
        self._cut.discard(node)

    def slow(self, node: int, rate: str) -> None:
        """Limits what the node exchanges with everybody, such as "2mbit"."""
        self._cables.slow(node, rate)

    def delayed(self, node: int) -> int:
        """Counts how often the limit had something wait."""
        return self._cables.delayed(node)

    def alive(self, node: int) -> frozenset[int]:
        """Returns the nodes that this one considers alive; none while it does not answer."""
        return self._nodes[node].alive_brokers()

    def log(self, node: int) -> Path:
        return self._nodes[node].log

    @property
    def _tls(self) -> Certificates:
        assert self._certificates is not None, f"a started cluster with {self._security} has no certificates"
        return self._certificates

    @property
    def _cables(self) -> Network:
        assert self._network is not None, "only a node with a namespace of its own can be cut off: namespaces=True"
        return self._network

    def _place(self) -> None:
        ports = _free_ports()
        for n in self._brokers:
            if self._port is not None and not _is_free(self._port + n - 1):
                raise KafkaFailed(f"port {self._port + n - 1} is taken: end what listens there, or choose another")
            self._nodes[n] = Node(
                id=n,
                folder=self._folder / f"node-{n}",
                heap=self._heap,
                token_keys=self._tokens.keys if self._tokens else "",
                prefix=self._network.prefix(n) if self._network is not None else (),
                address=Address(
                    host=self._network.host(n) if self._network is not None else HOST,
                    client=next(ports) if self._port is None else self._port + n - 1,
                    broker=next(ports),
                    controller=next(ports),
                ),
            )

    def _configure(self) -> None:
        settings = self._shared_settings()
        if self._security.endswith("SSL"):
            hosts = [node.address.host for node in self._nodes.values()]
            self._certificates = Certificates.made(self._folder / "certificates", hosts)
            settings |= self._certificates.settings(client_auth=self._client_auth)
        if self._security.startswith("SASL"):
            settings |= self._tokens.settings() if self._tokens else self._user.settings()
        if self._authorizer:
            settings |= AUTHORIZER
        for node in self._nodes.values():
            node.configure(settings)

    def _shared_settings(self) -> dict[str, str]:
        copies = min(len(self._brokers), 3)
        acknowledged = max(1, copies - 1)
        voters = ",".join(f"{node.id}@{node.address.host}:{node.address.controller}" for node in self._nodes.values())
        return {
            "controller.quorum.voters": voters,
            "listener.security.protocol.map": f"CLIENT:{self._security},BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "default.replication.factor": str(copies),
            "offsets.topic.replication.factor": str(copies),
            "transaction.state.log.replication.factor": str(copies),
            "share.coordinator.state.topic.replication.factor": str(copies),
            "min.insync.replicas": str(acknowledged),
            "transaction.state.log.min.isr": str(acknowledged),
            "share.coordinator.state.topic.min.isr": str(acknowledged),
        }

    def _format(self) -> None:
        passwords = self._security.startswith("SASL") and not self._tokens
        options = self._user.format_options() if passwords else []
        begun = {node.id: process for node in self._nodes.values() if (process := node.format(self._id, options))}
        try:
            for node, process in begun.items():
                if process.wait() != 0:
                    raise KafkaFailed(f"the storage of node {node} was not made: {self._nodes[node].complaints()}")
        finally:
            processes.end(begun.values(), seconds=_STOP_ALL_SECONDS)

    def _end_all(self) -> None:
        running = [node.process for node in self._nodes.values() if node.process is not None]
        processes.end(running, seconds=_STOP_ALL_SECONDS)


def _free_ports() -> Iterator[int]:
    return (port for port in iter(lambda: random.choice(_PORTS), None) if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
        return True
