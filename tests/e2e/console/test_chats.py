"""A person talks with the tutor, and decides what stays of it."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from soliloquy.client import Dataset, NoDataset
from soliloquy.runs.supervision import LOG
from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.console.hostile import HARMED, HOSTILE
from tests.e2e.consoles import NOBODY, STATE, gone, talked

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def kept_of_a_person(data: Path) -> Conversation:
    """The only one, once the collector has it; it was left before it was solved, so it is none of the accepted."""
    async with asyncio.timeout(120):
        while True:
            with contextlib.suppress(NoDataset):
                for place in data.glob("chats-*"):
                    for one in Dataset(place).conversations(rejected=True):
                        return one
            await asyncio.sleep(0.1)


async def test_a_person_talks_with_the_tutor_and_has_it_kept(page: Page, folder: Path) -> None:
    await gone(page, "chat", "Chat")
    await page.until("document.getElementById('chat-bank')")
    await page.evaluate(
        "document.getElementById('chat-recipe').value = 'soliloquy';"
        "document.getElementById('chat-bank').value = 'physics'; document.getElementById('chat-seed').value = '3'"
    )
    await page.click("main form .primary")
    await page.until("document.getElementById('say')")
    assert await talked(page, f"Can you help me? {HOSTILE}")
    assert await talked(page, "I think it is 12.")
    assert await page.evaluate("document.querySelectorAll('.talk .soliloquy').length") == 2
    assert "math" in await page.evaluate("document.querySelector('.talk pre.code').textContent")
    assert not await page.evaluate(HARMED)
    await page.click(".tools button", "Finish")
    await page.click("dialog[open] button", "Go on talking")
    await page.until("!document.querySelector('dialog')")
    await page.click(".tools button", "Finish")
    await page.click("dialog[open] button", "Keep it")
    await page.until("document.querySelector('.toast')?.textContent.includes('is kept')")
    await page.until("document.querySelector('main form.beginning')")
    kept = await kept_of_a_person(folder / "data")
    assert [turn.student.text for turn in kept.turns][1] == "I think it is 12."
    await gone(page, "runs", "Runs")
    await page.click("table.runs a", run_key(kept.run))
    await page.until(f"{STATE} === 'started elsewhere' && document.querySelectorAll('.list a').length === 1")
    assert await page.evaluate("document.querySelectorAll('.tools button').length") == 0
    await page.click(".list a")
    await page.until("document.querySelectorAll('.turns > li').length >= 2")
    said = await page.evaluate("[...document.querySelectorAll('.student .bubble')].map((one) => one.textContent)")
    assert said[1] == "I think it is 12."
    assert not await page.evaluate(HARMED)


async def test_a_person_who_does_not_want_it_leaves_nothing(page: Page, folder: Path) -> None:
    await gone(page, "chat", "Chat")
    await page.click("main form .primary")
    await page.until("document.getElementById('say')")
    await talked(page, "I will not be remembered.")
    await page.click(".tools button", "Finish")
    await page.click("dialog[open] button", "Do not keep it")
    await page.until("document.querySelector('.toast')?.textContent.includes('was deleted')")
    log = folder / "data" / LOG
    written = b"".join(file.read_bytes() for file in log.parent.glob(f"{log.name}*"))
    assert b"conversation" in written
    assert b"I will not be remembered" not in written


async def test_the_page_says_who_tutors_and_suggests_what_to_type(page: Page) -> None:
    await gone(page, "chat", "Chat")
    await page.until("document.querySelector('.tutoring li')")
    assert "scripted stand-in: a guided demo" in await page.evaluate("document.querySelector('.tutoring').textContent")
    assert await page.evaluate("document.getElementById('chat-recipe').value") == "soliloquy"
    await page.click("main form .primary")
    await page.until("document.getElementById('say')")
    assert "no language model" in await page.evaluate("document.querySelector('.told summary').textContent")
    await page.evaluate("document.querySelector('.suggested button').focus()")
    await page.press("Enter")
    assert await page.evaluate("document.activeElement.id") == "say"
    assert await page.evaluate("document.getElementById('say').value") == "How do I begin?"
    await page.press("Enter")
    await page.until(
        "document.querySelectorAll('.talk .tutor .bubble').length === 1 && !document.querySelector('.live')"
    )


async def test_another_model_is_two_fields_away_and_one_that_does_not_answer_is_told(page: Page) -> None:
    await gone(page, "chat", "Chat")
    await page.click(".choice label", "Another model")
    assert await page.evaluate("document.getElementById('chat-endpoint').value") == NOBODY
    assert await page.evaluate("document.getElementById('chat-recipe').value") == "soliloquy"
    await page.click("main form .primary")
    await page.until("document.querySelector('main form [role=alert]').textContent.includes('Name the model')")
    await page.fill("#chat-model", "qwen2.5:7b")
    await page.click(".choice label", "My own")
    await page.click("main form .primary")
    await page.until("document.querySelector('main form [role=alert]').textContent.includes('Write the problem')")
    await page.fill("#chat-question", "What is the meaning of mass?")
    await page.click("main form .primary")
    await page.until("document.querySelector('main form [role=alert]').textContent.includes('cannot be asked for')")
    # The browser notes every answer that is a refusal.
    page.complaints.clear()
