"""Runs a Prometheus that scrapes the release as the chart's PodMonitor says, and the node's kubelet."""

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from soliloquy.cli.observe import Prometheus
from tests.chaos.kafka.installation import free_ports
from tests.kafka import processes
from tests.node.node import ADDRESS
from tests.node.release import NAMESPACE, SERVICES, Refused, Release
from tests.observability.alerting import INTERVAL_SECONDS, Alerts, hastened_rules
from tests.unit.chart.objects import named, objects

Scrape = dict[str, Any]
_END_SECONDS = 10.0
_DISCOVERY_SECONDS = 2.0
_KUBELET: Scrape = {
    "job_name": "kubelet",
    "scheme": "https",
    "tls_config": {"insecure_skip_verify": True},
    "honor_labels": True,
    "static_configs": [{"targets": [f"{ADDRESS}:10250"]}],
    "metric_relabel_configs": [{"source_labels": ["__name__"], "action": "keep", "regex": "kubelet_volume_stats_.+"}],
}


@contextmanager
def watched(release: Release, folder: Path, haste: float) -> Iterator[tuple[Alerts, Prometheus]]:
    """Yields once every pod answers and the rules, `haste` times as fast as usual, have been evaluated."""
    interval = f"{INTERVAL_SECONDS / haste:g}s"
    discovered = folder / "pods.json"
    settings = {
        "global": dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), interval),
        "rule_files": [f"{hastened_rules(folder / 'rules', haste)}/*.yaml"],
        "scrape_configs": [*_monitored(discovered), _KUBELET],
    }
    (folder / "prometheus.yaml").write_text(json.dumps(settings), "utf-8")
    [port] = free_ports(1)
    listen, log = f"127.0.0.1:{port}", folder / "prometheus.log"
    command = ["prometheus", f"--config.file={folder / 'prometheus.yaml'}", f"--storage.tsdb.path={folder / 'data'}"]
    process: subprocess.Popen[bytes] = processes.start([*command, f"--web.listen-address={listen}"], log)
    ended = threading.Event()
    discovering = threading.Thread(target=_discover, args=(release, discovered, ended))
    discovering.start()
    try:
        running = Prometheus(process, log, f"http://{listen}")
        running.wait_until_ready()
        alerts = Alerts(running)
        # One pod of each service, and the kubelet.
        alerts.wait_until_watching(len(SERVICES) + 1)
        yield alerts, running
    finally:
        ended.set()
        discovering.join()
        processes.end([process], seconds=_END_SECONDS)


def _monitored(pods: Path) -> Iterator[Scrape]:
    """Translates the PodMonitor as the Prometheus operator does."""
    monitor = named(objects({"podMonitor": {"enabled": True}}), "PodMonitor")["spec"]
    for number, endpoint in enumerate(monitor["podMetricsEndpoints"]):
        relabelings = [
            *(_by_label("keep", label, value) for label, value in monitor["selector"]["matchLabels"].items()),
            *(_unlike(each) for each in monitor["selector"]["matchExpressions"]),
            _by("keep", "__meta_kubernetes_pod_container_port_name", endpoint["port"]),
            _by("drop", "__meta_kubernetes_pod_phase", "(Failed|Succeeded)"),
            *(
                {"source_labels": [f"__meta_kubernetes_{source}"], "target_label": label}
                for label, source in (
                    ("namespace", "namespace"),
                    ("pod", "pod_name"),
                    ("container", "pod_container_name"),
                )
            ),
            *({_snake(key): value for key, value in each.items()} for each in endpoint["relabelings"]),
        ]
        yield {
            "job_name": f"podMonitor/{number}",
            "metrics_path": endpoint["path"],
            "file_sd_configs": [{"files": [str(pods)]}],
            "relabel_configs": relabelings,
        }


def _discover(release: Release, to: Path, ended: threading.Event) -> None:
    """Keeps a file of all pods up to date: Debian builds Prometheus without its discovery of Kubernetes."""
    while not ended.wait(_DISCOVERY_SECONDS):
        with suppress(Refused):
            found = [target for pod in release.object("pods")["items"] for target in _targets(pod)]
            new = to.with_suffix(".new")
            new.write_text(json.dumps(found), "utf-8")
            new.replace(to)


def _targets(pod: dict[str, Any]) -> Iterator[Scrape]:
    """Yields a target for each port, with the labels of that discovery."""
    told = {"namespace": NAMESPACE, "pod_name": pod["metadata"]["name"], "pod_phase": pod["status"]["phase"]}
    told |= {f"pod_label_{_label(name)}": value for name, value in pod["metadata"].get("labels", {}).items()}
    for container in pod["spec"]["containers"] if "podIP" in pod["status"] else ():
        for port in container.get("ports", ()):
            own = {"pod_container_name": container["name"], "pod_container_port_name": port["name"]}
            labels = {f"__meta_kubernetes_{name}": value for name, value in (told | own).items()}
            yield {"targets": [f"{pod['status']['podIP']}:{port['containerPort']}"], "labels": labels}


def _unlike(expression: dict[str, Any]) -> Scrape:
    assert expression["operator"] == "NotIn"
    return _by_label("drop", expression["key"], f"({'|'.join(expression['values'])})")


def _by_label(action: str, label: str, regex: str) -> Scrape:
    return _by(action, f"__meta_kubernetes_pod_label_{_label(label)}", regex)


def _by(action: str, label: str, regex: str) -> Scrape:
    return {"action": action, "source_labels": [label], "regex": regex}


def _label(name: str) -> str:
    return re.sub("[^a-zA-Z0-9]", "_", name)


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
