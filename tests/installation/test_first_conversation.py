"""Installs the images that were just built on an empty node, and goes on until a conversation is on the dashboard."""

import pytest

from deploy.dashboards import board
from soliloquy.cli.observe import prometheus
from tests.chaos.kafka.installation import free_ports
from tests.installation.parts import table, timed, took
from tests.node.release import SERVICES, Release
from tests.observability.asking import Asked
from tests.unit.deploy.queries import filled

pytestmark = pytest.mark.timeout(2400)
# A quarter of an hour, without what is downloaded.
AT_MOST_SECONDS = 900.0
PANELS = ("Processes by service", "Conversations finished", "Accepted so far", "Done")
METRICS = 9090


def test_an_empty_clone_shows_its_first_conversation_within_a_quarter_of_an_hour(
    request: pytest.FixtureRequest,
) -> None:
    for part, fixture in (("control plane", "cluster"), ("node", "node"), ("Kafka", "kafka")):
        with timed(part):
            request.getfixturevalue(fixture)
    with timed("helm install --wait"):
        release: Release = request.getfixturevalue("release")
    with timed("first accepted conversation"):
        # It still runs when the dashboard is looked at.
        release.start(conversations=1000, seed=1).reach(1)
    with timed("dashboard"):
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
