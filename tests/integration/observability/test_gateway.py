"""Checks what operators see of the gateway: every panel of its row shows data."""

import asyncio
from pathlib import Path

from deploy.dashboards.board import boards
from soliloquy.cli.prometheus import prometheus
from soliloquy.client import AsyncRuns, state_of
from soliloquy.runtime.health import serve_probes
from tests.chaos.kafka.installation import free_ports
from tests.integration.gateway.served import served
from tests.integration.gateway.support import Collecting, growing
from tests.integration.transport.embedded import connect
from tests.observability import needs_prometheus
from tests.observability.asking import Asked
from tests.unit.deploy.queries import filled

pytestmark = needs_prometheus
DATA_SECONDS = 30.0


async def test_every_panel_of_the_gateway_shows_data(tmp_path: Path) -> None:
    row = boards()["overview"].row["Gateway"]
    asked = {f"{panel.title}: {each}": filled(query, rate="4s") for panel in row for each, query in panel.ask.items()}
    [port] = free_ports(1)
    async with (
        connect(str(tmp_path / "events.db")) as transport,
        growing(transport, Collecting()),
        served(transport) as address,
        serve_probes("127.0.0.1:0", lambda: []) as exported,
        AsyncRuns(address) as runs,
    ):
        with prometheus({exported: "gateway"}, port, interval="1s") as watcher:
            seeing = asyncio.create_task(asyncio.to_thread(Asked(watcher.address).wait_for, asked, DATA_SECONDS))
            while not seeing.done():
                run = await runs.start(problems="arithmetic", conversations=20, in_flight=4)
                assert [state_of(status) async for status in runs.watch(run.id)][-1] == "finished"
            await seeing
