"""Records what happens to a namespace's pods, as the server reports it."""

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from tests.cluster.control_plane import Cluster, until

Pod = dict[str, Any]
_COMPONENT = "app.kubernetes.io/component"


@dataclass(kw_only=True)
class Recording:
    """Holds each pod at each of its changes, in order; entries before `begins` describe the initial state."""

    events: list[tuple[str, Pod]] = field(default_factory=list)
    begins: int = 0

    def states(self) -> Iterator[list[Pod]]:
        """Yields the existing pods after each change."""
        pods: dict[str, Pod] = {}
        for number, (kind, pod) in enumerate(list(self.events), 1):
            pods.pop(pod["metadata"]["uid"], None)
            if kind != "DELETED":
                pods[pod["metadata"]["uid"]] = pod
            if number >= self.begins:
                yield list(pods.values())

    def fewest_ready(self) -> dict[str, int]:
        counts = [ready(pods) for pods in self.states()]
        return {component: min(count.get(component, 0) for count in counts) for component in set().union(*counts)}

    def made(self, component: str) -> list[Pod]:
        return [pod for kind, pod in self.events[self.begins :] if kind == "ADDED" and component_of(pod) == component]

    def place(self, kind: str, component: str, phase: str) -> int:
        """Returns the index of the first change that has such a pod."""
        places = (
            number
            for number, (told, pod) in enumerate(self.events)
            if (told, component_of(pod), pod["status"].get("phase")) == (kind, component, phase)
        )
        return next(places)


def component_of(pod: Pod) -> str:
    return str(pod["metadata"].get("labels", {}).get(_COMPONENT, ""))


def ready(pods: list[Pod]) -> dict[str, int]:
    """Counts the serving pods of each component that are not being deleted."""
    found: dict[str, int] = {}
    for pod in pods:
        conditions = {told["type"]: told["status"] for told in pod["status"].get("conditions", [])}
        serves = conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]
        found[component_of(pod)] = found.get(component_of(pod), 0) + serves
    return found


@contextlib.contextmanager
def recorded(cluster: Cluster, namespace: str) -> Iterator[Recording]:
    recording = Recording()

    def agrees() -> None:
        [*_, told] = [[], *recording.states()]
        there = cluster.items("pods", f"--namespace={namespace}")
        assert versions(told) == versions(there)

    flags = [f"--namespace={namespace}", "--watch", "--output-watch-events", "--output=json"]
    command = cluster.command("kubectl", "get", "pods", *flags)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watch:
        assert watch.stdout is not None
        reader = threading.Thread(target=_read, args=(watch.stdout, recording))
        reader.start()
        try:
            until(agrees)
            recording.begins = len(recording.events)
            yield recording
            until(agrees)
        finally:
            watch.kill()
            reader.join()


def versions(pods: list[Pod]) -> dict[str, str]:
    return {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in pods}


def _read(output: IO[str], recording: Recording) -> None:
    for line in output:
        told = json.loads(line)
        recording.events.append((told["type"], told["object"]))
