"""Runs a Prometheus that scrapes the release as the chart's PodMonitor says, and the node's kubelet."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soliloquy.cli.prometheus import Prometheus
from tests.chaos.kafka.installation import free_ports
from tests.kafka import processes
from tests.node.node import ADDRESS
from tests.node.release import NAMESPACE, Release
from tests.observability.alerting import INTERVAL_SECONDS, Alerts, hastened_rules
from tests.unit.chart.objects import named, objects

Scrape = dict[str, Any]
_END_SECONDS = 10.0
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
    settings = {
        "global": dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), interval),
        "rule_files": [f"{hastened_rules(folder / 'rules', haste)}/*.yaml"],
        "scrape_configs": [*_monitored(release), _KUBELET],
    }
    (folder / "prometheus.yaml").write_text(json.dumps(settings), "utf-8")
    [port] = free_ports(1)
    listen, log = f"127.0.0.1:{port}", folder / "prometheus.log"
    command = ["prometheus", f"--config.file={folder / 'prometheus.yaml'}", f"--storage.tsdb.path={folder / 'data'}"]
    process: subprocess.Popen[bytes] = processes.start([*command, f"--web.listen-address={listen}"], log)
    try:
        running = Prometheus(process, log, f"http://{listen}")
        running.wait_until_ready()
        alerts = Alerts(running)
        pods = release.object("pods", "--field-selector=status.phase=Running")["items"]
        alerts.wait_until_watching(len(pods) + 1)
        yield alerts, running
    finally:
        processes.end([process], seconds=_END_SECONDS)


def _monitored(release: Release) -> Iterator[Scrape]:
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
        discovery = {"role": "pod", "kubeconfig_file": str(release.cluster.kubeconfig())}
        yield {
            "job_name": f"podMonitor/{number}",
            "metrics_path": endpoint["path"],
            "kubernetes_sd_configs": [discovery | {"namespaces": {"names": [NAMESPACE]}}],
            "relabel_configs": relabelings,
        }


def _unlike(expression: dict[str, Any]) -> Scrape:
    assert expression["operator"] == "NotIn"
    return _by_label("drop", expression["key"], f"({'|'.join(expression['values'])})")


def _by_label(action: str, label: str, regex: str) -> Scrape:
    return _by(action, f"__meta_kubernetes_pod_label_{re.sub('[^a-zA-Z0-9]', '_', label)}", regex)


def _by(action: str, label: str, regex: str) -> Scrape:
    return {"action": action, "source_labels": [label], "regex": regex}


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
