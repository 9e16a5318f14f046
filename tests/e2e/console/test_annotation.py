"""Two annotators and an adjudicator in the console: with keys alone, on a phone, and nothing that is said is lost."""

import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soliloquy.annotation.report import agreement
from soliloquy.annotation.rows import read_annotations
from soliloquy.annotation.scheme import scheme_of
from tests.e2e.accessibility import needs_axe, seen, violations
from tests.e2e.chromium import Page, chromium, needs_chromium
from tests.e2e.consoles import OPERATOR, TITLE, Site, gone, signed_in, site
from tests.waiting import wait_until

pytestmark = [needs_chromium, needs_axe]
ADA, BEN = "ada's token", "ben's token"
TERMS = "We keep what you say for a study."
ITEM = "document.querySelector('.item h2')?.textContent"
MESSAGES = [{"role": "student", "text": "I get 4."}, {"role": "tutor", "text": "What do you take away?"}]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("annotating"), annotators={"anna": ADA, "bert": BEN}) as running:
        yield running


@asynccontextmanager
async def annotator(at: Site, folder: Path, token: str) -> AsyncIterator[Page]:
    async with chromium(folder, offline=False) as page:
        await page.open(at.address)
        await page.until("document.getElementById('token')")
        await page.fill("#token", token)
        await page.press("Enter")
        await page.until(f"{TITLE} === 'Annotate'")
        yield page


def added(at: Site, items: int, **differing: Any) -> str:
    tasks = [
        {"item": f"{number}", "shown": {"question": f"Item {number}", "answer": "7", "messages": MESSAGES}}
        for number in range(items)
    ]
    body = {"name": f"{items} problems", "scheme": "mathwell", "tasks": tasks, "consent": TERMS} | differing
    return str(at.call("POST", "/v1/annotation/projects", body)["id"])


async def judged(page: Page, place: str, items: int, keys: str) -> None:
    """With keys alone, from the terms to the last item."""
    await page.evaluate(f"location.hash = '#/annotate/{place}'")
    await page.until("document.querySelector('.terms')")
    await page.click("button", "I agree")
    for number in range(items):
        await page.until(f"document.querySelector('.counted')?.textContent === '{number + 1} of {items}'")
        for key in keys:
            await page.press(key)
        await page.press("Enter")
    await page.until("document.querySelector('.annotating .nothing')")


@pytest.mark.parametrize("items", [6, pytest.param(60, marks=pytest.mark.thorough)])
async def test_two_annotators_and_an_adjudicator_come_to_rows_that_tell_their_agreement(
    installation: Site, tmp_path: Path, items: int
) -> None:
    place = added(installation, items)
    for name, token, keys in (("ada", ADA, "qay"), ("ben", BEN, "qsy")):
        async with annotator(installation, tmp_path / name, token) as page:
            await judged(page, place, items, keys)
            # An annotator sees no other page.
            shown = "[...document.querySelectorAll('nav a')].filter((one) => !one.hidden).map((one) => one.textContent)"
            assert await page.evaluate(shown) == ["Annotate", "Teach"]
    async with chromium(tmp_path / "grace", offline=False) as page:
        await signed_in(page, installation)
        await gone(page, f"annotate/{place}/disputes", f"{items} problems: disputes")
        for left in range(items, 0, -1):
            await page.until(f"document.querySelector('.counted')?.textContent === '{left} left'")
            assert await page.evaluate("document.querySelectorAll('.asking .chip').length") == 8
            for key in "qay":
                await page.press(key)
            await page.press("Enter")
        await page.until("document.querySelector('.annotating .nothing')")
    rows = installation.call("GET", f"/v1/annotation/projects/{place}/annotations")["annotations"]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = agreement(read_annotations(file), scheme_of("mathwell"))
    assert found["annotations"] == 3 * items
    assert [found["questions"][name]["observed"]["value"] for name in ("solvable", "accurate")] == [1, 0]
    assert all(row["seconds"] > 0 for row in rows)


async def test_a_draft_outlives_a_reload_and_an_answer_is_taken_back(installation: Site, tmp_path: Path) -> None:
    place = added(installation, 2, consent="", name="Drafts")
    async with annotator(installation, tmp_path / "ada", ADA) as page:
        await page.evaluate(f"location.hash = '#/annotate/{place}'")
        await page.until(f"{ITEM} === 'Item 0'")
        for key in "qa":
            await page.press(key)
        await page.fill("#ask-remark", "a long remark")
        await page.reload()
        await page.until(f"{ITEM} === 'Item 0'")
        assert await page.evaluate("document.getElementById('ask-remark').value") == "a long remark"
        assert await page.evaluate("document.querySelectorAll('.labels input:checked').length") == 2
        await page.evaluate("document.querySelector('.asking').requestSubmit()")
        await page.until("document.querySelector('.fault')?.textContent === 'Appropriate: choose an answer.'")
        await page.evaluate("document.querySelector('.asking').focus()")
        await page.press("y")
        await page.press("Enter")
        await page.until(f"{ITEM} === 'Item 1'")
        await page.click("button", "Take my last answer back")
        await page.until(f"{ITEM} === 'Item 0'")
        assert await page.evaluate("document.querySelectorAll('.labels input:checked').length") == 3


@pytest.mark.thorough
async def test_an_answer_that_meets_a_killed_gateway_is_sent_until_it_is_kept(
    installation: Site, tmp_path: Path
) -> None:
    place = added(installation, 2, consent="", name="Killed")
    async with annotator(installation, tmp_path / "ada", ADA) as page:
        await page.evaluate(f"location.hash = '#/annotate/{place}'")
        await page.until(f"{ITEM} === 'Item 0'")
        before = installation.gateway
        os.kill(before, signal.SIGKILL)
        for key in "qay":
            await page.press(key)
        await page.press("Enter")
        await page.until(f"{ITEM} === 'Item 1'")
    rows = installation.call("GET", f"/v1/annotation/projects/{place}/annotations")["annotations"]
    assert [row["item"] for row in rows] == ["0"]
    wait_until(lambda: installation.gateway != before)


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
async def test_the_pages_break_no_rule_of_axe(installation: Site, tmp_path: Path, width: int, scheme: str) -> None:
    place = added(installation, 1, name=f"Looked at {width}")
    async with chromium(tmp_path / "grace", offline=False) as page:
        await signed_in(page, installation, OPERATOR)
        await seen(page, width, scheme)
        for name in ("Annotate", "Teach"):
            await gone(page, name.lower(), name)
            await page.until("document.querySelector('form.beginning')")
            assert await violations(page) == []
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await gone(page, f"annotate/{place}", f"Looked at {width}")
        assert await violations(page) == []
        await page.click("button", "I agree")
        await page.until(f"{ITEM} === 'Item 0'")
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        if folder := os.environ.get("PICTURES"):
            await page.picture(Path(folder) / f"annotate-{width}.png")
