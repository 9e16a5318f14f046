"""Text from conversations stays text, and a damaged file says so."""

from pathlib import Path

import pytest

from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.report.contents import HOSTILE, ID_OF

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_a_conversation_that_is_markup_does_nothing(page: Page) -> None:
    for address in ("overview", "conversations", *ID_OF.values(), "c0ffee"):
        await page.evaluate(f"location.hash = {address!r}")
    await page.until("document.querySelector('.id')?.textContent === 'c0ffee'")
    await page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
    assert await page.evaluate("document.querySelector('.about h2').textContent") == HOSTILE
    assert await page.evaluate("document.querySelector('.bubble').textContent") == HOSTILE
    assert await page.evaluate("document.querySelectorAll('img, .about b, .bubble b').length") == 0
    assert await page.evaluate("window.harmed === undefined")


async def test_a_file_that_was_cut_off_says_so(browser: Page, folder: Path, tmp_path: Path) -> None:
    whole = (folder / "report.html").read_text("utf-8")
    (tmp_path / "cut.html").write_text(whole.partition('<script type="text/plain" id="block-0"')[0], "utf-8")
    await browser.open((tmp_path / "cut.html").as_uri())
    await browser.evaluate("location.hash = 'conversations'")
    await browser.until("document.getElementById('reader').textContent.includes('was cut off')")
