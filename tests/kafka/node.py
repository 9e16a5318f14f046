"""One node of a cluster: broker and controller in one JVM."""

import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.kafka import processes
from tests.kafka.jars import class_path, java
from tests.kafka.probe import alive_brokers

_POLICY = Path(__file__).with_name("server.properties")
_LOGGING = Path(__file__).with_name("log4j2.properties")
_STARTED = b"Kafka Server started"
_COMPLAINTS_LENGTH = 2000


class KafkaFailed(Exception):
    """A node did not start; the message ends with its complaints."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """The addresses where a node listens for clients, other brokers and other controllers."""

    host: str
    client: int
    broker: int
    controller: int


@dataclass(kw_only=True, slots=True)
class Node:
    id: int
    folder: Path
    address: Address
    heap: str
    # The command prefix that enters the node's network.
    prefix: tuple[str, ...] = ()
    # Where the broker may read the keys that sign tokens.
    token_keys: str = ""
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _log_start: int = field(default=0, init=False)

    @property
    def log(self) -> Path:
        return self.folder / "node.log"

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The process; None while the node is down."""
        return self._process if self._process is not None and self._process.poll() is None else None

    def configure(self, settings: Mapping[str, str]) -> None:
        self.folder.mkdir(exist_ok=True)
        own = {
            "node.id": str(self.id),
            "log.dirs": str(self.folder / "data"),
            "listeners": ",".join(
                f"{name}://{self.address.host}:{port}"
                for name, port in (
                    ("CLIENT", self.address.client),
                    ("BROKER", self.address.broker),
                    ("CONTROLLER", self.address.controller),
                )
            ),
            **settings,
        }
        lines = [_POLICY.read_text("utf-8"), *(f"{name}={value}\n" for name, value in own.items())]
        self._properties.write_text("".join(lines), "utf-8")

    def format(self, cluster: str, options: list[str]) -> subprocess.Popen[bytes] | None:
        """Starts formatting an empty storage; returns None if there is one already."""
        if (self.folder / "data" / "meta.properties").exists():
            return None
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        what = ["kafka.tools.StorageTool", "format", "--cluster-id", cluster, "--config", str(self._properties)]
        return processes.start(self._java(*what, *options), self.log)

    def start(self) -> None:
        assert self.process is None, f"node {self.id} runs already"
        self._log_start = self.log.stat().st_size
        self._process = processes.start([*self.prefix, *self._java("kafka.Kafka", str(self._properties))], self.log)

    def alive_brokers(self) -> frozenset[int]:
        if self.process is None:
            raise KafkaFailed(f"node {self.id} ended before it answered: {self.complaints()}")
        return alive_brokers(self.address.host, self.address.broker)

    def is_started(self) -> bool:
        """An answered probe is not enough: the node could still fail to bind another port."""
        return _STARTED in self.log.read_bytes()[self._log_start :]

    def kill(self) -> None:
        # A property: it is None as soon as the process has ended.
        process = self.process
        assert process is not None, f"node {self.id} is down already"
        process.send_signal(signal.SIGKILL)
        process.wait()

    def lose_data(self) -> None:
        assert self.process is None, f"node {self.id} is up"
        shutil.rmtree(self.folder / "data")

    def complaints(self) -> str:
        """Returns the end of its log since the last start, without info lines and stack traces."""
        lines = self.log.read_bytes()[self._log_start :].decode(errors="replace").splitlines()
        told = (line for line in lines if line and not line[0].isspace() and " INFO " not in line)
        return "\n".join(told)[-_COMPLAINTS_LENGTH:] or f"nothing, see {self.log}"

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    def _java(self, *what: str) -> list[str]:
        # A test's broker lives for a minute, so a quick start matters more than peak speed.
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
        if self.token_keys:
            quick.append(f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.token_keys}")
        options = [f"-Xmx{self.heap}", *quick, f"-Dlog4j2.configurationFile={_LOGGING}"]
        return [java(), *options, "-cp", class_path(), *what]
