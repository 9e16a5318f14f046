"""Implements `make pictures` for the console: draws a run and a chat of the stand-in into deploy/docs."""

import asyncio
import tempfile
from pathlib import Path

from deploy.site.pages import ROOT
from tests.e2e.chromium import Page, chromium
from tests.e2e.consoles import Site, gone, signed_in, site, talked
from tests.waiting import wait_until

FOLDER = ROOT / "deploy/docs/console"


async def take(page: Page, served: Site, folder: Path) -> None:
    run = served.started(12, request_id="pictures", seed=3, name="Twelve of physics")
    # A page that sees its end covers a part of itself with the news.
    await asyncio.to_thread(wait_until, lambda: served.call("GET", f"/v1/runs/{run}")["state"] == "RUN_STATE_FINISHED")
    await page.sized(1280, 860)
    await gone(page, f"runs/{run}", "Twelve of physics")
    await page.until("document.querySelectorAll('.list a').length === 12")
    await page.picture(folder / "run.png")
    await page.evaluate("document.querySelector('.list a').click()")
    await page.until("document.querySelector('.turns > li')")
    await page.press("s")
    await page.until("!document.querySelector('details.soliloquy:not([open])')")
    # The page scrolls smoothly by itself.
    await page.evaluate("scrollTo({top: 560, behavior: 'instant'})")
    await page.until("scrollY > 500")
    await page.picture(folder / "conversation.png")
    await page.sized(360, 740, scale=2, mobile=True)
    await gone(page, "runs", "Runs")
    await page.until("document.querySelector('main').textContent.includes('Twelve of physics')")
    await page.evaluate("document.activeElement.blur()")
    await page.picture(folder / "runs-phone.png")
    await gone(page, "chat", "Chat")
    await page.until("document.getElementById('chat-bank')")
    await page.click("main form .primary")
    await page.until("document.getElementById('say')")
    assert await talked(page, "Can you help me?")
    await page.picture(folder / "chat-phone.png")


async def main() -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        site(Path(place), "--latency", "10ms", "--shard-seconds", "1s") as served,
    ):
        async with chromium(Path(place) / "profile", offline=False) as page:
            await signed_in(page, served)
            await take(page, served, FOLDER)


if __name__ == "__main__":
    asyncio.run(main())
