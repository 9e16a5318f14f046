"""A teacher in the console: from the comparison of the solutions to the questionnaire, and nothing typed is lost."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.accessibility import PHONE, needs_axe, seen, violations
from tests.e2e.chromium import Page, chromium, needs_chromium
from tests.e2e.consoles import TITLE, Site, site
from tests.waiting import wait_until

pytestmark = [needs_chromium, needs_axe]
ADA = "ada's token"
SAID = "document.querySelectorAll('.teaching .turns .student').length"
READY = "(({ readOnly } = { readOnly: true }) => !readOnly)(document.querySelector('#say') || undefined)"
READY += " && !document.querySelector('.asking .primary').disabled"


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("teaching"), annotators={"anna": ADA}) as running:
        yield running


def added(at: Site, name: str, dialogues: int, **differing: str) -> str:
    body = {"name": name, "recipe": "mathdial", "bank": "arithmetic", "dialogues": dialogues, "seed": 3} | differing
    return str(at.call("POST", "/v1/teaching/projects", body)["id"])


async def arrived(page: Page, at: Site, project: str) -> None:
    await page.open(at.address)
    await page.until("document.getElementById('token')")
    await page.fill("#token", ADA)
    await page.press("Enter")
    await page.until(f"{TITLE} === 'Annotate'")
    await page.evaluate(f"location.hash = '#/teach/{project}'")


async def compared(page: Page) -> None:
    await page.until("document.getElementById('comparison')")
    await page.click("input[name=line]")
    await page.fill("#comparison", "It uses the wrong numbers.")
    await page.press("Enter")
    await page.until(READY)


async def said(page: Page, move: str, text: str, *, answers: int) -> None:
    """Sends a message, and waits for the student's answer."""
    await page.until(READY)
    await page.click(f"input[value={move}]")
    await page.fill("#say", text)
    await page.press("Enter")
    await page.until(f"{SAID} === {answers} && {READY}")


async def rated(page: Page) -> None:
    await page.click("button", "End the dialogue")
    await page.until("document.querySelectorAll('.asking fieldset').length === 4")
    for question in range(4):
        await page.evaluate(f"document.querySelectorAll('.asking fieldset')[{question}].querySelector('input').click()")
    await page.click(".asking .primary")
    await page.until("[...document.querySelectorAll('button')].some((one) => one.textContent === 'Next problem')")


@pytest.mark.parametrize(
    ("width", "scheme"), [(PHONE, "dark"), pytest.param(1280, "light", marks=pytest.mark.thorough)]
)
async def test_a_teacher_has_three_dialogues_and_they_are_a_dataset(
    school: Site, tmp_path: Path, width: int, scheme: str
) -> None:
    project = added(school, f"Three at {width}", 3)
    async with chromium(tmp_path / "ada", offline=False) as page:
        await arrived(page, school, project)
        await seen(page, width, scheme)
        for number in range(3):
            await page.until("document.getElementById('comparison')")
            if not number:
                await looked_at(page, width)
            await compared(page)
            await said(page, "generic", "Hi! How did you come to that?", answers=1)
            await page.fill("#say", "2 + 2 = 5")
            await page.click("input[value=focus]")
            await page.press("Enter")
            await page.click("dialog button", "Change it")
            await said(page, "probing", "Why did you do that?", answers=2)
            if not number:
                await looked_at(page, width)
                await page.picture(Path(os.environ.get("PICTURES", tmp_path)) / f"teach-{width}.png", whole=True)
            await rated(page)
            await looked_at(page, width)
            await page.click("button", "Next problem")
        await page.until("document.querySelector('.teaching .nothing')")

    def kept() -> Any:
        runs = school.call("GET", "/v1/runs")["runs"]
        run = school.call("GET", f"/v1/teaching/projects/{project}")["run"]
        return next((one for one in runs if one["id"] == run and int(one["progress"].get("accepted", 0)) == 3), None)

    wait_until(kept)


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (1280, "light")])
async def test_a_teacher_agrees_to_the_terms_sees_the_plan_and_calculates(
    school: Site, tmp_path: Path, width: int, scheme: str
) -> None:
    project = added(school, f"Sandbox at {width}", 1, recipe="soliloquy", consent="We keep what you write.")
    async with chromium(tmp_path / "ada", offline=False) as page:
        await arrived(page, school, project)
        await seen(page, width, scheme)
        await page.until("document.querySelector('.terms')")
        await looked_at(page, width)
        await page.click("button", "I agree")
        await page.until("document.getElementById('program')")
        assert await page.evaluate("document.querySelectorAll('.item ol li').length") > 1
        await page.fill("#program", "20 * 3")
        await page.reload()
        await page.until("document.getElementById('program')?.value === '20 * 3'")
        await page.click("form:has(#program) button")
        await page.until("document.querySelector('.programs .value')?.textContent === '60'")
        assert await page.evaluate("document.getElementById('program').value") == ""
        await page.reload()
        await page.until("document.querySelector('.programs .value')?.textContent === '60'")
        await looked_at(page, width)
        await page.picture(Path(os.environ.get("PICTURES", tmp_path)) / f"teach-sandbox-{width}.png", whole=True)
        await said(page, "stay", "How many are on the deck?", answers=2)
        assert await page.evaluate("document.querySelectorAll('.programs .attempt').length") == 0


async def looked_at(page: Page, width: int) -> None:
    assert await violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.thorough
async def test_a_message_that_meets_a_killed_gateway_is_kept_once_and_answered(school: Site, tmp_path: Path) -> None:
    project = added(school, "Killed", 1)
    async with chromium(tmp_path / "ada", offline=False) as page:
        await arrived(page, school, project)
        await compared(page)
        await page.fill("#say", "A draft")
        await page.reload()
        await page.until(READY)
        assert await page.evaluate("document.getElementById('say').value") == "A draft"
        before = school.gateway
        os.kill(before, signal.SIGKILL)
        await said(page, "generic", "Hi! How did you come to that?", answers=1)
        assert await page.evaluate("document.querySelectorAll('.teaching .turns .tutor').length") == 1
    wait_until(lambda: school.gateway != before)
