"""Checks that the traces which histograms name reach Prometheus, so that panels can show them."""

import asyncio
import time

from soliloquy.cli.observe import prometheus
from soliloquy.runtime.health import serve_probes
from soliloquy.runtime.metrics import TOOK
from tests.chaos.kafka.installation import free_ports
from tests.observability import needs_prometheus
from tests.observability.asking import Asked
from tests.waiting import PATIENCE_SECONDS

pytestmark = needs_prometheus
TRACE = "0af7651916cd43dd8448eb211c80319c"


async def test_a_slow_conversation_is_found_by_its_trace() -> None:
    [port] = free_ports(1)
    [slow] = [histogram for what, histogram in TOOK.items() if "conversation" in what]
    async with serve_probes("127.0.0.1:0", lambda: []) as exported:
        slow.labels("collector").observe(700.0, {"trace_id": TRACE})
        with prometheus({exported: "collector-0"}, port, interval="1s") as watcher:
            asked = Asked(watcher.address)
            began = time.time()
            found: list[str] = []
            while TRACE not in found:
                assert time.time() - began < PATIENCE_SECONDS, found
                await asyncio.sleep(0.2)
                found = await asyncio.to_thread(
                    asked.traces, "soliloquy_conversation_seconds_bucket", began - PATIENCE_SECONDS, time.time()
                )
