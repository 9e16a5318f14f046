"""The console on a phone, with keys alone, and at first sight."""

import pytest

from tests.e2e.accessibility import PHONE, needs_axe, on_phones_and_screens, seen, violations
from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.consoles import TITLE, Site, opened

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]

FOCUSED = "document.activeElement.textContent"
# Each page, and what it shows once it is loaded.
PAGES = (
    ("runs/{run}", ".list a"),
    ("runs", "table.runs td"),
    ("runs?start", "dialog[open] form"),
    ("compare", "#first-run"),
    ("compare/{run}/{run}", ".runs-compared"),
    ("dead-letters", ".nothing:not([hidden]), .letters > li"),
    ("pipeline", ".topics td"),
    ("training", "main section"),
    ("chat", "main form"),
)
# Resources that a browser waits for before it paints.
BLOCKING = """performance.getEntriesByType('resource')
    .filter(({ renderBlockingStatus }) => renderBlockingStatus === 'blocking').map(({ name }) => name)"""


async def test_nothing_is_wider_than_a_phone(page: Page, grown: str) -> None:
    await page.sized(PHONE, 740, mobile=True)
    await opened(page, grown)
    places = (f"runs/{grown}", f"compare/{grown}/{grown}", "compare", "runs", "runs?start", "dead-letters")
    for place in ("", *places, "pipeline", "training", "chat"):
        if place:
            await page.evaluate(f"location.hash = '#/{place}'")
            await page.until("document.querySelector('main h1')")
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth"), place


async def test_the_keyboard_is_enough(page: Page, grown: str) -> None:
    await page.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    await page.evaluate("document.querySelector('.titled .primary').focus()")
    await page.press("Enter")
    await page.until("document.querySelector('dialog[open]')?.contains(document.activeElement)")
    await page.press("Escape")
    await page.until("!document.querySelector('dialog') && location.hash === '#/runs'")
    assert await page.evaluate(FOCUSED) == "Start a run"
    await page.evaluate(f"location.hash = '#/runs/{grown}'")
    await page.until("document.querySelectorAll('.list a').length === 6")
    ids = await page.evaluate("[...document.querySelectorAll('.list a')].map((link) => link.hash)")
    await page.evaluate("document.querySelector('.list a').focus()")
    await page.press("Enter")
    for key, expected in (("j", ids[1]), ("j", ids[2]), ("k", ids[1])):
        await page.until("document.querySelector('.turns > li')")
        await page.press(key)
        await page.until(f"location.hash === {expected!r} && document.querySelector('.id')?.hash === {expected!r}")
    await page.press("Escape")
    await page.until(f"document.activeElement.hash === {ids[1]!r}")
    await page.press("Escape")
    await page.until(f"document.activeElement.hash === '#/runs/{grown}'")


@needs_axe
@on_phones_and_screens
async def test_no_page_breaks_a_rule_of_axe(page: Page, grown: str, width: int, scheme: str) -> None:
    await seen(page, width, scheme)
    await opened(page, grown)
    for place, sign in (("", ".turns > li"), *((each.format(run=grown), sign) for each, sign in PAGES)):
        if place:
            await page.evaluate(f"location.hash = '#/{place}'")
            await page.until(f"document.querySelector({sign!r})")
        assert await violations(page) == [], place


async def test_it_paints_within_a_second(page: Page, served: Site) -> None:
    """One quick time of many is enough: what else this machine does is none of the console's doing."""
    painted = "performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)"
    times: list[float] = []
    while not any(took < 1_000 for took in times):
        assert len(times) < 30, times
        await page.open("about:blank")
        await page.open(served.address)
        await page.until(f"{painted}.length && {TITLE} === 'Runs'")
        times += await page.evaluate(painted)
        blocking = await page.evaluate(BLOCKING)
        assert len(blocking) == 4
        assert all(address.endswith(".css") for address in blocking)
