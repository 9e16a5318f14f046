"""Installs the images that were just built on a bare node, and goes on until its conversations are on the dashboard."""

import pytest

from deploy.dashboards import board
from soliloquy.cli.observe import prometheus
from tests.chaos.kafka.installation import free_ports
from tests.installation.parts import table, timed, took
from tests.node.release import RELEASE, SERVICES, Release
from tests.observability.asking import Asked
from tests.unit.deploy.queries import filled

pytestmark = pytest.mark.timeout(2400)
# A quarter of an hour, without what is downloaded.
AT_MOST_SECONDS = 900.0
PANELS = ("Processes by service", "Conversations finished", "Accepted so far", "Done")
METRICS = 9090


def test_an_empty_clone_shows_its_first_conversations_within_a_quarter_of_an_hour(
    request: pytest.FixtureRequest,
) -> None:
    for part, fixture in (("control plane", "cluster"), ("node", "node")):
        with timed(part):
            request.getfixturevalue(fixture)
    release: Release = request.getfixturevalue("bare")
    with timed("helm install --wait"):
        release.try_out()
    with timed("helm test: ten conversations"):
        release.helm("test", RELEASE, "--timeout=10m")
    with timed("dashboard"):
        # It still runs when the dashboard is looked at.
        release.inside("gateway", "soliloquy", "runs", "start", "--problems=physics", "--conversations=1000")
        show(release)
    print(f"\n{table()}")
    assert sum(took().values()) < AT_MOST_SECONDS


def show(release: Release) -> None:
    """Returns when a Prometheus that scrapes the release has something for these panels."""
    pods = [pod for service in SERVICES for pod in release.pods(service)]
    targets = {f"{pod['status']['podIP']}:{METRICS}": pod["metadata"]["name"] for pod in pods}
    [port] = free_ports(1)
    with prometheus(targets, port, interval="2s") as running:
        Asked(running.address).wait_for(queries(), seconds=120)


def queries() -> dict[str, str]:
    panels = {panel.title: panel for row in board.boards()["overview"].row.values() for panel in row}
    return {title: filled(query) for title in PANELS for query in panels[title].ask.values()}
