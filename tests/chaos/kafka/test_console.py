"""Opens the console of services on Kafka."""

import os
import signal
import uuid
from pathlib import Path

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from tests.e2e.chromium import chromium, needs_chromium
from tests.e2e.consoles import STATE, gone, opened, signed_in, site, start_pressed, talked

pytestmark = needs_chromium


@pytest.mark.timeout(600)
@pytest.mark.asyncio
async def test_a_run_on_kafka_is_started_watched_and_read_though_the_gateway_is_killed(
    kafka: str, tmp_path: Path
) -> None:
    settings = KafkaSettings(bootstrap=kafka, prefix=f"console-{uuid.uuid4().hex[:8]}.")
    await apply(settings, replication=1)
    reach = ["--kafka", settings.bootstrap, "--kafka-prefix", settings.prefix, "--sandboxes", "1"]
    with site(tmp_path, *reach) as served:
        async with chromium(tmp_path / "profile", offline=False) as page:
            await signed_in(page, served)
            await start_pressed(page, conversations=30)
            await page.until("Number(document.querySelector('.accepted dd')?.textContent) > 0")
            os.kill(served.gateway, signal.SIGKILL)
            await page.until("!document.getElementById('lost').hidden")
            await page.until(f"{STATE} === 'finished'", seconds=120)
            assert await page.evaluate("document.querySelector('.accepted dd').textContent") == "30"
            await opened(page, (await page.evaluate("location.hash")).removeprefix("#/runs/"))
            assert await page.evaluate("document.querySelectorAll('details.soliloquy').length") > 0
            await gone(page, "pipeline", "Pipeline")
            await page.until("document.querySelectorAll('.topics tbody tr').length > 8")
            await gone(page, "chat", "Chat")
            await page.click("main form .primary")
            await page.until("document.getElementById('say')")
            assert await talked(page, "Can you help me?")
