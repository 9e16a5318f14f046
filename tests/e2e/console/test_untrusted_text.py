"""Whatever is said in the console is text."""

import pytest

from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.console.hostile import HARMED, HOSTILE, HOSTILE_FILE, QUESTION, TAMPERED
from tests.e2e.consoles import TITLE, Site, gone, opened

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_hostile_problems_do_nothing(page: Page, served: Site) -> None:
    run = served.started(1, request_id="hostile-problems", problems=HOSTILE_FILE)
    await page.evaluate(f"location.hash = '#/runs/{run}'")
    await page.until(f"{TITLE} === {f'{HOSTILE_FILE}, 1 conversation'!r}")
    await opened(page, run)
    assert await page.evaluate("document.querySelector('.about h2').textContent") == f"{HOSTILE} {QUESTION}"
    await gone(page, "runs", "Runs")
    await page.until("document.querySelector('table.runs').textContent.includes('<img')")
    assert not await page.evaluate(HARMED)


async def test_a_hostile_name_of_a_run_does_nothing(page: Page, served: Site, grown: str) -> None:
    run = served.started(1, request_id="hostile-name", name=HOSTILE)
    for place, sign in (
        ("runs", "table.runs th a"),
        (f"runs/{run}", "h1"),
        (f"compare/{run}/{grown}", ".runs-compared thead a"),
        (f"compare/{run}/{grown}", "option:checked"),
    ):
        await page.evaluate(f"location.hash = '#/{place}'")
        await page.until(f"document.querySelector({sign!r})?.textContent.includes({HOSTILE!r})")
        assert not await page.evaluate(HARMED), place


async def test_whatever_the_gateway_says_is_text_everywhere(page: Page, grown: str) -> None:
    await page.evaluate(TAMPERED)
    await opened(page, grown)
    assert await page.evaluate("document.querySelector('.bubble').textContent") == HOSTILE
    for place, sign in (
        (f"runs/{grown}", ".list a"),
        ("runs", "table.runs td"),
        ("runs?start", "dialog[open] form"),
        (f"compare/{grown}/{grown}", ".runs-compared"),
        ("dead-letters", ".nothing, .letters > li"),
        ("pipeline", ".topics td"),
        ("training", "main section .nothing"),
        ("chat", "main form"),
    ):
        await page.evaluate(f"location.hash = '#/{place}'")
        await page.until(f"document.querySelector({sign!r})")
        assert not await page.evaluate(HARMED), place
