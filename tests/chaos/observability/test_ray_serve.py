"""Checks what operators see of Ray Serve: its panels show data, and Ray exports what our rules read."""

import os
import time
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from deploy.dashboards.board import boards
from soliloquy.cli.observe import prometheus
from tests.chaos.kafka.installation import free_ports
from tests.e2e.runs import SOLILOQUY, command, run
from tests.kafka import processes
from tests.observability import needs_prometheus
from tests.observability.asking import Asked
from tests.unit.deploy.queries import filled
from tests.unit.rules import rulebook

pytestmark = [
    needs_prometheus,
    pytest.mark.skipif(
        find_spec("ray") is None and os.environ.get("CI") != "true",
        reason="Ray Serve is missing: pip install 'soliloquy-tutor[serve]'",
    ),
    pytest.mark.timeout(900),
]

START_SECONDS = 120.0
DATA_SECONDS = 120.0
# Ray lists its sessions here; each names the port of its metrics.
_SESSION = Path("/tmp/ray/session_latest")


@pytest.fixture(scope="module")
def watcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Runs a Prometheus that scrapes Ray while its service answers for a run."""
    folder = tmp_path_factory.mktemp("ray")
    grpc, http, own = free_ports(3)
    serve = ["model", "serve", "--grpc", f"127.0.0.1:{grpc}", "--http", f"127.0.0.1:{http}", "--latency", "20ms"]
    autoscaled = ["--replicas", "1", "--max-replicas", "2"]
    log = folder / "serve.log"
    service = processes.start([SOLILOQUY, *serve, *autoscaled], log)
    try:
        _wait_for_line(log, "serving on")
        [port] = (path.read_text() for path in _SESSION.glob("metrics_export_port_*"))
        with prometheus({f"127.0.0.1:{port}": "ray"}, own, interval="2s") as scraped:
            watcher = Asked(scraped.address)
            # A counter has no rate before it has grown.
            for name in ("counted", "growing"):
                grown = run(command(folder / name, model="ray", model_address=f"127.0.0.1:{grpc}"))
                assert grown.returncode == 0, grown.stderr
                watcher.wait_for({name: "ray_serve_deployment_processing_latency_ms_count"}, DATA_SECONDS)
            yield watcher
    finally:
        processes.end([service], seconds=30)


def _wait_for_line(log: Path, line: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while line not in (said := log.read_text("utf-8")):
        assert "soliloquy: " not in said, said
        assert time.monotonic() < deadline, said
        time.sleep(0.2)


def test_every_panel_of_ray_serve_shows_data(watcher: Asked) -> None:
    [row] = (panels for board in boards().values() for name, panels in board.row.items() if name == "Ray Serve")
    queries = {f"{panel.title}: {legend}": filled(query) for panel in row for legend, query in panel.ask.items()}
    watcher.wait_for(queries, DATA_SECONDS)


def test_ray_exports_what_our_rules_read_with_the_labels_that_they_use(watcher: Asked) -> None:
    read = tomllib.loads(Path(rulebook.__file__).with_name("foreign.toml").read_text("utf-8"))["ray"]
    watcher.wait_for({name: name for name in read}, DATA_SECONDS)
    for name, labels in read.items():
        assert all(set(labels) <= set(series) for series, _ in watcher.now(name)), name
