"""The overview's scales are honest, and nothing of the page is cut off or wider than the screen."""

import pytest

from soliloquy.v1.conversation_pb2 import Conversation
from tests.e2e.accessibility import PHONE, needs_axe, on_phones_and_screens, seen, violations
from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.report.contents import ID_OF

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_a_page_opens_with_how_far_the_dataset_can_be_relied_on(
    page: Page, conversations: list[Conversation]
) -> None:
    accepted = len(conversations) + 1
    strip = await page.evaluate("document.querySelector('.strip').innerText")
    for told in (
        f"{accepted} of {accepted + len(ID_OF)} generated conversations accepted",
        "faults found by soliloquy check",
        "nearly repeat the wording of another",
    ):
        assert told in strip
    titles = await page.evaluate("[...document.querySelectorAll('.plot h3')].map((title) => title.textContent)")
    assert {"Why some were rejected", "Families", "Difficulty", "Lengths in tokens", "Time per program"} <= set(titles)
    # The run took 48 seconds.
    assert "Throughput" not in titles


async def test_a_bar_takes_as_much_of_its_track_as_its_share(page: Page) -> None:
    drawn = await page.evaluate("""[...document.querySelectorAll('.shares li')].map((row) => {
        const [track, ...pieces] = [row.querySelector('svg'), ...row.querySelectorAll('rect')]
            .map((part) => part.getBoundingClientRect().width);
        const [count, told] = [row.querySelector('b').firstChild, row.querySelector('b span')];
        return [count.textContent, told.textContent, pieces.reduce((sum, one) => sum + one, 0) / track];
    })""")
    assert len(drawn) > 20
    for count, told, share in drawn:
        whole = told.removeprefix("of ")
        expected = float(told.removesuffix(" %")) / 100 if told.endswith(" %") else int(count) / int(whole)
        assert share == pytest.approx(expected, abs=0.002), (count, told)
    assert any(0.05 < share < 0.5 for *_, share in drawn)


async def test_a_reason_leads_to_the_conversations_that_were_rejected_for_it(page: Page) -> None:
    await page.click(".shares .fault a", "verdict")
    await page.until("location.hash === '#conversations' && document.querySelectorAll('#list a').length")
    links = await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash)")
    assert links == [f"#{one}" for one in ID_OF.values()]


@pytest.mark.parametrize("width", [PHONE, 768, 1280])
async def test_nothing_of_a_plot_is_cut_off(page: Page, width: int) -> None:
    await page.sized(width, 800)
    outside = """[...document.querySelectorAll('.plot')].flatMap((plot) => {
        const card = plot.getBoundingClientRect();
        return [...plot.querySelectorAll('text, rect, li, td, th')].filter((part) => {
            const box = part.getBoundingClientRect();
            const [left, right, top, bottom] = [card.left, card.right + 0.5, card.top, card.bottom];
            return box.left < left || box.right > right || box.top < top || box.bottom > bottom;
        }).map((part) => part.outerHTML);
    })"""
    assert await page.evaluate(outside) == []


async def test_no_two_ticks_of_an_axis_touch(page: Page) -> None:
    await page.sized(PHONE, 800)
    touching = """[...document.querySelectorAll('svg.chart')].flatMap((chart) => {
        const texts = [...chart.querySelectorAll('text')];
        const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
        return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
            .filter(([, b]) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
            .map(([other]) => `${one} / ${other}`));
    })"""
    assert await page.evaluate(touching) == []


async def test_nothing_is_wider_than_a_phone(page: Page, calculated: Conversation) -> None:
    await page.sized(PHONE, 740, mobile=True)
    # A phone shrinks a page that is too wide, and then has more pixels.
    too_wide = f"Math.max(document.documentElement.scrollWidth, innerWidth) > {PHONE}"
    comparison = f"compare={ID_OF['mathdial']}"
    for address in ("overview", "conversations", calculated.id, "c0ffee", *ID_OF.values(), comparison):
        await page.evaluate(f"location.hash = {address!r}")
        if len(address) == 24 or address == "c0ffee":
            await page.until(f"document.querySelector('.id')?.textContent === {address!r}")
            await page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
        elif address == comparison:
            await page.until("document.querySelectorAll('.sides section .turns').length === 2")
        assert not await page.evaluate(too_wide), address
    assert await page.evaluate("document.querySelector('.finder').checkVisibility()") is False
    await page.evaluate("document.querySelector('.back').click()")
    await page.until("document.querySelector('.finder').checkVisibility()")


@needs_axe
@on_phones_and_screens
async def test_no_part_of_the_report_breaks_a_rule_of_axe(
    page: Page, calculated: Conversation, width: int, scheme: str
) -> None:
    await seen(page, width, scheme)
    places = {
        "overview": "document.querySelector('.strip').checkVisibility()",
        "conversations": "document.querySelectorAll('#list a').length",
        calculated.id: f"document.querySelector('.id')?.textContent === {calculated.id!r}",
        f"compare={ID_OF['mathdial']}": "document.querySelectorAll('.sides section .turns').length === 2",
    }
    for place, shown in places.items():
        await page.evaluate(f"location.hash = {place!r}")
        await page.until(shown)
        await page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
        assert await violations(page) == [], place
