"""Runs in the console: started, watched, read and taken along."""

import os
import re
import signal

import pytest

from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.consoles import STATE, TITLE, Site, chosen, gone, losing, start_pressed

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_a_run_is_started_watched_to_its_end_and_read(page: Page) -> None:
    await page.click("a", "Start a run")
    await page.until("document.querySelector('dialog[open] #conversations')")
    await page.fill("#conversations", "4x")
    await page.until("document.getElementById('conversations').getAttribute('aria-invalid') === 'true'")
    assert await page.evaluate("document.querySelector('dialog .primary').disabled")
    assert "4x" in await page.evaluate("document.getElementById('conversations-hint').textContent")
    await page.fill("#conversations", "4")
    await page.fill("#seed", "18446744073709551615")
    await page.evaluate("document.getElementById('problems').value = 'physics'")
    await page.fill("#name", "Four of physics")
    await page.press("Enter")
    await page.until(f"{TITLE} === 'Four of physics'")
    await page.until(f"{STATE} === 'finished' && document.querySelectorAll('.list a').length === 4")
    assert await page.evaluate("document.querySelector('.accepted dd').textContent") == "4"
    assert "18446744073709551615" in await page.evaluate("document.querySelector('.settings').textContent")
    assert "model scripted" in await page.evaluate("document.querySelector('.heading .facts').textContent")
    assert re.fullmatch(r"\d+ s", await page.evaluate("document.querySelector('.time dd').textContent"))
    await page.evaluate("document.querySelector('.list a').click()")
    await page.until("document.querySelector('.turns > li')")
    assert await page.evaluate("document.querySelectorAll('details.soliloquy[open]').length") == 0
    await page.press("s")
    await page.until("!document.querySelector('details.soliloquy:not([open])')")
    assert await page.evaluate("document.querySelectorAll('[open] pre.code .word').length") >= 1
    assert "strict" in await page.evaluate("document.querySelector('.call summary').textContent")
    await page.press("Escape")
    await page.until(f"{STATE} === 'finished'")


async def test_a_template_fills_the_form_and_says_when_it_starts_by_itself(page: Page) -> None:
    await page.click("a", "Start a run")
    await page.until("document.querySelector('dialog[open] #template')")
    shown = await page.evaluate("[...document.getElementById('template').options].at(-1).textContent")
    assert re.fullmatch(r"two \(starts by itself, next at .*Jan.*\)", shown)
    await chosen(page, "template", "two")
    told = await page.evaluate("document.querySelector('dialog .sum').textContent")
    assert told == "2 conversations from arithmetic, by mathdial, seed 5."
    await page.click("dialog .primary")
    await page.until(f"{TITLE} === 'Two of arithmetic' && {STATE} === 'finished'")


async def test_a_file_of_ones_own_is_checked_in_the_form_and_run_from(page: Page) -> None:
    await page.click("a", "Start a run")
    await page.until("document.querySelector('dialog[open] #own-problems')")
    bring = (
        "(() => {{ const [input, files] = [document.getElementById('own-problems'), new DataTransfer()];"
        "files.items.add(new File([{text}], 'pens.jsonl')); input.files = files.files;"
        "input.dispatchEvent(new Event('change')); }})()"
    )
    told = "document.querySelector('dialog [role=status]').textContent"
    wrong = '{"question": "How many pens?", "solution": "3 * 12 = 35"}'
    await page.evaluate(bring.format(text=repr(wrong)))
    await page.until(f"{told}.includes('1 line of pens.jsonl cannot be used:')")
    assert "line 1: solution" in await page.evaluate(told)
    sound = '{"question": "Tom has 3 boxes of 12 pens. How many pens?", "solution": "He has 3 * 12 = 36 pens."}'
    await page.evaluate(bring.format(text=repr(sound)))
    await page.until(f"{told} === '1 problem, no faults in the arithmetic.'")
    assert await page.evaluate("document.getElementById('problems').value") == "pens.jsonl"
    await page.fill("#conversations", "2")
    await page.click("dialog .primary")
    await page.until(f"{TITLE} === 'pens.jsonl, 2 conversations' && {STATE} === 'finished'")


async def test_whoever_presses_start_again_after_a_lost_answer_has_one_run(page: Page, served: Site) -> None:
    before = len(served.call("GET", "/v1/runs")["runs"])
    await losing(page, "options.method === 'POST'", after=True)
    await start_pressed(page, conversations=1)
    await page.until("document.querySelector('dialog [role=alert]').textContent.includes('Press Start again')")
    await page.click("dialog .primary")
    await page.until(f"{STATE} === 'finished'")
    assert len(served.call("GET", "/v1/runs")["runs"]) == before + 1


async def test_a_lost_connection_is_told_and_comes_back_by_itself(page: Page, served: Site) -> None:
    run = served.started(16, request_id="for-a-lost-connection", in_flight=2)
    await page.evaluate(f"window.stayed = true; location.hash = '#/runs/{run}'")
    await page.until("Number(document.querySelector('.accepted dd')?.textContent) > 0")
    os.kill(served.gateway, signal.SIGKILL)
    await page.until("!document.getElementById('lost').hidden")
    assert "Connection lost" in await page.evaluate("document.getElementById('lost').textContent")
    await page.until("document.getElementById('lost').hidden && document.querySelector('.toast')")
    await page.until(f"{STATE} === 'finished' && document.querySelector('.accepted dd').textContent === '16'")
    assert await page.evaluate("window.stayed")
    page.complaints.clear()


async def test_endings_and_students_narrow_the_list(page: Page, grown: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{grown}'")
    await page.until("document.querySelectorAll('.list a').length === 6")
    ending, student = (f"document.querySelector('[aria-label={name}]')" for name in ("Ending", "Student"))
    choose = "(() => {{ const list = {}; list.value = {}; list.dispatchEvent(new Event('change')); }})()"
    await page.evaluate(choose.format(ending, "'ENDING_TURN_LIMIT'"))
    await page.until("document.querySelector('.found').textContent === '0 conversations match'")
    await page.evaluate(choose.format(ending, "'ENDING_SOLVED'"))
    await page.until("document.querySelector('.found').textContent === '6 conversations match'")
    persona = await page.evaluate(f"{student}.options[1].value")
    await page.evaluate(choose.format(student, repr(persona)))
    await page.until(f"document.querySelectorAll('.list a').length < 6 || {student}.options.length === 2")
    await page.evaluate("document.querySelector('.list a').click()")
    await page.until("document.querySelector('.turns > li')")
    assert f"student: {persona}" in await page.evaluate("document.querySelector('.chips').textContent")


async def test_filters_and_search_narrow_the_list(page: Page, grown: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{grown}'")
    await page.until("document.querySelectorAll('.list a').length === 6")
    question = await page.evaluate("document.querySelector('.list .question').textContent")
    await page.press("/")
    await page.until("document.activeElement.type === 'search'")
    await page.write(question[:40].upper())
    await page.until("document.querySelectorAll('.list a').length === 1")
    assert "1 conversation matches" in await page.evaluate("document.querySelector('.found').textContent")
    await page.click(".choice label", "Rejected")
    await page.until("document.querySelector('.nothing').checkVisibility()")
    assert await page.evaluate("document.querySelectorAll('.list a').length") == 0


async def test_a_list_whose_answer_got_lost_is_loaded_again(page: Page, grown: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{grown}'")
    await page.until("document.querySelectorAll('.list a').length === 6")
    await losing(page, "path.includes('/conversations')")
    await page.click(".choice label", "Rejected")
    await page.until("document.querySelector('.nothing').checkVisibility()")
    assert await page.evaluate("document.querySelectorAll('.list a').length") == 0


async def test_the_form_stays_while_somebody_selects_text_in_it_and_goes_with_its_page(page: Page) -> None:
    await page.reload()
    await page.until(f"{TITLE} === 'Runs'")
    await page.click("a", "Start a run")
    await page.until("document.querySelector('dialog[open] #name')")
    press = "dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))"
    await page.evaluate(f"document.getElementById('name').{press}")
    await page.evaluate("document.querySelector('dialog').click()")
    assert await page.evaluate("document.querySelector('dialog').open")
    await page.evaluate(f"document.querySelector('dialog').{press}")
    await page.evaluate("document.querySelector('dialog').click()")
    await page.until("!document.querySelector('dialog')")


async def test_a_form_that_comes_late_does_not_open_over_another_page(page: Page) -> None:
    await page.reload()
    await page.until(f"{TITLE} === 'Runs'")
    await page.evaluate(
        "(() => { const real = fetch; window.fetch = async (path, options) => {"
        "const answer = await real(path, options);"
        "if (path === '/v1/choices') await new Promise((go) => { window.arrive = go; }); return answer; }; })()"
    )
    await page.click("a", "Start a run")
    await page.until("window.arrive")
    await gone(page, "dead-letters", "Dead letters")
    await page.evaluate("window.arrive()")
    await gone(page, "runs", "Runs")
    assert not await page.evaluate("document.querySelector('dialog')")


async def test_a_run_that_nobody_names_is_named_by_the_gateway_as_the_form_shows(page: Page, served: Site) -> None:
    await page.click("a", "Start a run")
    await page.until("document.querySelector('dialog[open] #name')")
    await chosen(page, "problems", "physics")
    await page.fill("#conversations", "1")
    shown = await page.evaluate("document.getElementById('name').placeholder")
    await page.press("Enter")
    await page.until(f"{TITLE}?.startsWith({shown!r}) && {STATE} === 'finished'")
    assert shown.endswith(", 1 conversation")


async def test_the_form_says_what_a_run_would_take_and_starts_none(page: Page, served: Site) -> None:
    before = len(served.call("GET", "/v1/runs")["runs"])
    await page.click("a", "Start a run")
    await page.until("document.querySelector('dialog[open] #conversations')")
    # No run of this recipe is over, so that the scripted model rehearses it.
    await chosen(page, "recipe", "scaffold")
    await chosen(page, "problems", "arithmetic")
    await page.fill("#conversations", "2000")
    await page.click("dialog footer button", "Forecast")
    await page.until("document.querySelectorAll('.forecast tbody tr').length === 6", seconds=60)
    shown = await page.evaluate("document.querySelector('.forecast').textContent")
    assert "that the scripted model played" in shown
    assert "Timeunknown" in shown
    # It is of these settings and no others.
    await page.fill("#conversations", "20")
    await page.until("!document.querySelector('.forecast')")
    assert len(served.call("GET", "/v1/runs")["runs"]) == before


async def test_what_is_written_of_a_run_can_be_taken_along(page: Page, grown: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{grown}'")
    await page.until("document.querySelectorAll('.files a').length > 1")
    manifest = "[...document.querySelectorAll('.files a')].find((link) => link.textContent === 'manifest.json')"
    assert await page.evaluate(
        f"fetch({manifest}.href).then((answer) => answer.json()).then((told) => told.shards.length)"
    )


async def test_an_unknown_run_or_conversation_is_said_in_one_sentence(page: Page, grown: str) -> None:
    for place in ("runs/nobody", f"runs/{grown}/nobody", "nowhere"):
        await page.evaluate(f"location.hash = '#/{place}'")
        await page.until(f"document.querySelector('main .nothing')?.textContent.includes({place.split('/')[-1]!r})")
    page.complaints.clear()
