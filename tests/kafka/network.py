"""A switch and one cable per node, with every node in its own network namespace."""

import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from tests.kafka import processes
from tests.kafka.jars import KafkaUnavailable

_PROGRAMS = ("ip", "tc", "nsenter", "unshare")
_NAMESPACE_SECONDS = 5.0
# What a slowed cable lets through at once, and for how long the rest may wait before it is dropped.
_BURST, _MOST_QUEUED = "32kb", "400ms"
# From 198.18.0.0/15, which is reserved for network tests.
_SUBNETS = range(256)


class Network:
    """Needs root.

    A namespace lives as long as an idle process in it, and a cable as long as the namespaces it joins, so even a killed
    test leaves nothing behind. The switch has its own namespace because the host's firewall filters traffic on the
    host's bridges.
    """

    def __init__(self, folder: Path, nodes: range) -> None:
        self._log = folder / "network.log"
        self._nodes = nodes
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self._subnet: int | None = None

    def open(self) -> None:
        _require_root_and_programs()
        for name in ("switch", *map(self._port, self._nodes)):
            self._holders[name] = self._hold()
        self._switch("link", "add", "bridge", "type", "bridge")
        self._switch("link", "set", "bridge", "up")
        self._join_host()
        for node in self._nodes:
            self._join(node)

    def close(self) -> None:
        if self._subnet is not None:
            subprocess.run(["ip", "link", "delete", self._cable], capture_output=True, check=False)
            self._subnet = None
        processes.end(self._holders.values(), seconds=1.0)
        self._holders.clear()

    def host(self, node: int) -> str:
        return f"198.18.{self._subnet}.{node}"

    def prefix(self, node: int) -> tuple[str, ...]:
        """Returns the command prefix that enters the node's namespace."""
        return self._in(self._port(node))

    def cut(self, node: int) -> None:
        """Unplugs the cable at the switch: nothing gets through, and no connection notices."""
        self._switch("link", "set", self._port(node), "nomaster")

    def mend(self, node: int) -> None:
        self._plug(self._port(node))

    def slow(self, node: int, rate: str) -> None:
        """Lets so much through the node's cable each way, such as "2mbit"."""
        limit = ("root", "tbf", "rate", rate, "burst", _BURST, "latency", _MOST_QUEUED)
        for place, end in ((self._port(node), "cable"), ("switch", self._port(node))):
            _call("tc", "qdisc", "replace", "dev", end, *limit, inside=self._in(place))

    def delayed(self, node: int) -> int:
        """Counts how often a slowed cable had a packet wait."""
        shown = ["tc", "-s", "-j", "qdisc", "show", "dev"]
        ends = ((self._port(node), "cable"), ("switch", self._port(node)))
        found = (subprocess.check_output([*self._in(place), *shown, end]) for place, end in ends)
        return sum(int(row.get("overlimits", 0)) for rows in found for row in json.loads(rows))

    @property
    def _cable(self) -> str:
        """Returns the name of the host's end of the cable, unique on this machine."""
        return f"kafka-test-{self._subnet}"

    @staticmethod
    def _port(node: int) -> str:
        return f"node-{node}"

    def _hold(self) -> subprocess.Popen[bytes]:
        holder = processes.start(["unshare", "--net", "sleep", "infinity"], self._log)
        deadline = time.monotonic() + _NAMESPACE_SECONDS
        while holder.poll() is None and _namespace(holder.pid) == _namespace(os.getpid()):
            if time.monotonic() > deadline:
                holder.kill()
            time.sleep(0.005)
        if holder.returncode is not None:
            raise KafkaUnavailable(f"no network namespace can be made: {self._log.read_text('utf-8').strip()}")
        return holder

    def _join_host(self) -> None:
        switch = str(self._holders["switch"].pid)
        for subnet in random.sample(_SUBNETS, len(_SUBNETS)):
            self._subnet = subnet
            if _ip("link", "add", self._cable, "type", "veth", "peer", "name", "host", "netns", switch, taken=True):
                break
        else:
            self._subnet = None
            raise KafkaUnavailable(f"all {len(_SUBNETS)} test networks are in use")
        _ip("address", "add", f"{self.host(254)}/24", "dev", self._cable)
        _ip("link", "set", self._cable, "up")
        self._plug("host")

    def _join(self, node: int) -> None:
        port, switch = self._port(node), str(self._holders["switch"].pid)
        inside = self._in(port)
        _ip("link", "add", "cable", "type", "veth", "peer", "name", port, "netns", switch, inside=inside)
        _ip("address", "add", f"{self.host(node)}/24", "dev", "cable", inside=inside)
        _ip("link", "set", "cable", "up", inside=inside)
        _ip("link", "set", "lo", "up", inside=inside)
        self._plug(port)

    def _plug(self, port: str) -> None:
        self._switch("link", "set", port, "master", "bridge", "up")

    def _switch(self, *arguments: str) -> None:
        _ip(*arguments, inside=self._in("switch"))

    def _in(self, name: str) -> tuple[str, ...]:
        return ("nsenter", f"--target={self._holders[name].pid}", "--net")


def _namespace(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return None


def _require_root_and_programs() -> None:
    if os.geteuid() != 0:
        raise KafkaUnavailable("a network of namespaces needs root")
    if missing := [program for program in _PROGRAMS if shutil.which(program) is None]:
        raise KafkaUnavailable(f"{', '.join(missing)} missing: install iproute2 and util-linux")


def _ip(*arguments: str, inside: tuple[str, ...] = (), taken: bool = False) -> bool:
    """Returns False if the object exists already and that is expected."""
    return _call("ip", *arguments, inside=inside, taken=taken)


def _call(*command: str, inside: tuple[str, ...], taken: bool = False) -> bool:
    done = subprocess.run([*inside, *command], capture_output=True, text=True, check=False)
    if taken and "File exists" in done.stderr:
        return False
    if done.returncode != 0:
        raise KafkaUnavailable(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return True
