"""A conversation is read in full, with the keyboard alone, light or dark, on a phone."""

import pytest

from soliloquy.v1.conversation_pb2 import Conversation
from tests.cases import each_case
from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.report.contents import FOCUSED, ID_OF, listed, searched

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_a_link_opens_a_conversation_with_its_soliloquies_folded(page: Page, calculated: Conversation) -> None:
    await page.evaluate(f"location.hash = {calculated.id!r}")
    await page.until(f"document.querySelector('.id')?.textContent === {calculated.id!r}")
    said = await page.evaluate("[...document.querySelectorAll('.bubble')].map((bubble) => bubble.textContent)")
    assert said == [text for turn in calculated.turns for text in (turn.student.text, turn.tutor.text)]
    assert await page.evaluate("document.querySelectorAll('details.soliloquy').length") == len(calculated.turns)
    assert await page.evaluate("document.querySelectorAll('details.soliloquy[open]').length") == 0
    place = next(place for place, turn in enumerate(calculated.turns) if turn.calculation.attempts)
    turn = calculated.turns[place]
    await page.evaluate(f"document.querySelectorAll('details.soliloquy summary')[{place}].click()")
    shown = await page.evaluate("document.querySelector('details.soliloquy[open]').innerText")
    assert turn.tutor.thoughts in shown
    assert "computed again" in shown or turn.calculation.attempts[0].execution.values[0].name in shown
    [code] = await page.evaluate(
        "[...document.querySelectorAll('[open] pre.code code')].map((code) => code.textContent)"
    )
    assert code == turn.calculation.attempts[0].code + "\n"
    assert await page.evaluate("document.querySelectorAll('[open] pre.code .comment').length") >= 1
    labels = await page.evaluate("[...document.querySelectorAll('.hidden-label')].map((label) => label.textContent)")
    assert labels[0] == "opening"


@each_case
async def test_what_only_some_recipes_have_is_shown_where_it_is(
    page: Page, recipe: str, part: str, said: list[str]
) -> None:
    await page.evaluate(f"location.hash = {ID_OF[recipe]!r}")
    await page.until(f"document.querySelector('.id')?.textContent === {ID_OF[recipe]!r}")
    await page.evaluate("document.querySelectorAll('#reader details').forEach((folded) => { folded.open = true; })")
    shown = await page.evaluate("document.getElementById('reader').innerText")
    for text in (part, *said, "1 answer sent back before", f"{recipe} says 5 m.", "That answers."):
        assert text in shown
    assert await searched(page, part) == 1
    assert await searched(page, f"{recipe} says 5 m.") == 1
    assert await searched(page, "that answers") == len(ID_OF)


async def test_an_id_that_is_not_there_is_said_so(page: Page) -> None:
    await page.evaluate("location.hash = 'nobody'")
    await page.until("document.getElementById('reader').textContent.includes('No conversation nobody')")


async def test_the_keyboard_is_enough(page: Page) -> None:
    await page.press("/")
    await page.until("document.activeElement.id === 'search'")
    await page.press("Enter")
    await page.until(f"{FOCUSED} === '0'")
    for key, row in (("j", "1"), ("ArrowDown", "2"), ("k", "1"), ("ArrowUp", "0"), ("k", "0")):
        await page.press(key)
        await page.until(f"{FOCUSED} === {row!r} && location.hash.slice(1) === search.index.id[{row}]")
    await page.press("Enter")
    await page.until("document.activeElement.id === 'reader'")
    await page.press("s")
    assert await page.evaluate("document.querySelectorAll('details.soliloquy:not([open])').length") == 0
    await page.press("Escape")
    await page.until(f"{FOCUSED} === '0'")
    assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


async def test_moving_on_turns_the_page(page: Page) -> None:
    await listed(page)
    await page.evaluate("document.querySelectorAll('#list a')[39].focus()")
    await page.press("j")
    await page.until(f"{FOCUSED} === '40'")
    assert await page.evaluate("document.getElementById('page').textContent") == "2 / 3"


async def test_it_is_light_or_dark_as_the_system_or_its_reader_wants(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(ground)
    await page.coloured("dark")
    dark = await page.evaluate(ground)
    assert light != dark
    await page.evaluate("document.getElementById('theme').click()")
    assert await page.evaluate(ground) == light
    await page.coloured("light")
    await page.evaluate("document.getElementById('theme').click()")
    assert await page.evaluate(ground) == dark
    await page.evaluate("localStorage.clear()")
