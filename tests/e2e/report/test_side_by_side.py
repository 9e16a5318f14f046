"""A rejected conversation stands beside an accepted one about the same problem."""

import pytest

from soliloquy.v1.conversation_pb2 import Conversation
from tests.e2e.accessibility import PHONE
from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.report.contents import ID_OF

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]

REJECTED = ID_OF["mathdial"]
SHOWN = "[...document.querySelectorAll('.sides section')].map((side) => side.checkVisibility())"


async def compared(page: Page) -> None:
    await page.evaluate(f"location.hash = {REJECTED!r}")
    await page.click("#reader a", "Compare with an accepted conversation")
    await page.until("document.querySelectorAll('.sides section .turns').length === 2")


async def test_both_are_about_the_same_problem_and_the_faulty_turn_is_marked(
    page: Page, conversations: list[Conversation]
) -> None:
    await compared(page)
    texts = await page.evaluate("[...document.querySelectorAll('.sides section')].map((side) => side.innerText)")
    assert all(conversations[-1].problem.question in text for text in texts)
    assert "verdict: " in await page.evaluate("document.querySelector('.rejected .turns > li .flag').textContent")
    assert await page.evaluate("document.querySelectorAll('.accepted .flag').length") == 0
    left, right = await page.evaluate(
        "[...document.querySelectorAll('.sides section')].map((side) => side.getBoundingClientRect().left)"
    )
    assert left < right
    assert await page.evaluate(SHOWN) == [True, True]


async def test_a_phone_shows_one_at_a_time(page: Page) -> None:
    await page.sized(PHONE, 740, mobile=True)
    await compared(page)
    assert await page.evaluate(SHOWN) == [True, False]
    assert await page.evaluate("document.querySelector('.compared [aria-pressed=true]').textContent") == "rejected"
    await page.click(".compared button", "accepted")
    assert await page.evaluate(SHOWN) == [False, True]


async def test_it_is_left_with_a_key_and_the_list_is_there_again(page: Page) -> None:
    await compared(page)
    await page.press("Escape")
    await page.until(f"location.hash === '#{REJECTED}' && document.querySelector('.finder').checkVisibility()")


async def test_an_accepted_one_leads_to_the_same_comparison(page: Page) -> None:
    accepted = await page.evaluate(f"search.index.id[search.index.pairs[search.index.id.indexOf({REJECTED!r})]]")
    await page.evaluate(f"location.hash = {accepted!r}")
    await page.until(f"document.querySelector('.id')?.textContent === {accepted!r}")
    links = await page.evaluate("[...document.querySelectorAll('.other a')].map((link) => link.hash)")
    assert len(links) == 1
    assert links[0].startswith("#compare=")
