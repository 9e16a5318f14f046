"""Checks what operators see of the gateway and its runs: every panel of their rows shows data."""

import asyncio
from pathlib import Path

from deploy.dashboards.board import boards
from soliloquy.cli.observe import prometheus
from soliloquy.client import AsyncRuns, state_of
from soliloquy.runtime.health import serve_probes
from tests.chaos.kafka.installation import free_ports
from tests.integration.gateway.site import site
from tests.observability import needs_prometheus
from tests.observability.asking import Asked
from tests.unit.deploy.queries import filled

pytestmark = needs_prometheus
DATA_SECONDS = 30.0


async def test_every_panel_of_the_gateway_shows_data(tmp_path: Path) -> None:
    rows = boards()["overview"].row
    panels = [panel for name in ("Gateway", "When will it be done?", "What do runs cost?") for panel in rows[name]]
    asked = {
        f"{panel.title}: {each}": filled(query, rate="4s") for panel in panels for each, query in panel.ask.items()
    }
    # No run was started elsewhere.
    del asked["Accepted: elsewhere"]
    [port] = free_ports(1)
    async with (
        site(tmp_path) as at,
        serve_probes("127.0.0.1:0", lambda: []) as exported,
        AsyncRuns(at.grpc) as runs,
    ):
        with prometheus({exported: "gateway"}, port, interval="1s") as watcher:
            # Stays in progress.
            await runs.start(problems="arithmetic", conversations=100_000, in_flight=2)
            seeing = asyncio.create_task(asyncio.to_thread(Asked(watcher.address).wait_for, asked, DATA_SECONDS))
            while not seeing.done():
                run = await runs.start(problems="arithmetic", conversations=20, in_flight=4)
                assert [state_of(status) async for status in runs.watch(run.id)][-1] == "finished"
            await seeing
