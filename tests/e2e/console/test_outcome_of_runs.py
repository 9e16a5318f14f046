"""What came of a run: its figures, why conversations were rejected, how it compares, and what can be downloaded."""

import pytest

from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.consoles import STATE, Site, chosen

# Keeps what the page has the browser save, by the name of the file.
SAVING = """(() => {
    window.saved = {};
    let content = null;
    URL.createObjectURL = (blob) => { content = blob.text(); return 'blob:kept'; };
    const click = HTMLAnchorElement.prototype.click;
    HTMLAnchorElement.prototype.click = function () {
        if (!this.href.startsWith('blob:')) return click.call(this);
        content.then((text) => { saved[this.download] = text; });
    };
})()"""

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


@pytest.fixture
def rejected(served: Site) -> str:
    """A run of two, the same for each test, whose four problems have every attempt rejected."""
    return served.started(2, request_id="to-compare", seed=5, max_turns=2, max_attempts=1, name="Two turns")


async def test_the_bar_of_a_run_counts_nothing_but_accepted_conversations(page: Page, rejected: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{rejected}'")
    await page.until(f"{STATE} === 'incomplete' && document.querySelectorAll('.list a').length === 4")
    assert await page.evaluate("document.querySelector('.progress').ariaValueText") == "0 of 2, 0%"
    filled = "[...document.querySelectorAll('.progress i')].map((part) => part.getBoundingClientRect().width)"
    assert await page.evaluate(filled) == [0]
    assert await page.evaluate("document.querySelector('.rejected dd').textContent") == "100%"
    tops = "[...document.querySelectorAll('.figures dd')].slice(0, 4).map((one) => one.getBoundingClientRect().top)"
    assert len(set(await page.evaluate(tops))) == 1


async def test_the_reasons_of_rejections_are_counted_and_narrow_the_list(page: Page, rejected: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{rejected}'")
    await page.until(f"{STATE} === 'incomplete' && document.querySelectorAll('.list a').length === 4")
    rows = "[...document.querySelectorAll('.reasons-found button')].map((row) => row.textContent)"
    assert any("not solved" in row and "4 · 100%" in row for row in await page.evaluate(rows))
    await page.evaluate("location.hash = '#/runs'")
    await page.until("document.querySelector('table.runs tbody')?.textContent.includes('4 of 4, mostly ')")
    await page.evaluate("history.back()")
    await page.click(".reasons-found button", "not solved")
    await page.until("document.querySelector('.found')?.textContent.includes('4 conversations match')")
    await page.click(".narrowing .chip", "not solved")
    await page.until("document.querySelector('.found')?.textContent === '4 conversations'")


async def test_two_runs_of_the_same_problems_are_read_turn_beside_turn(page: Page, rejected: str, served: Site) -> None:
    other = served.started(2, request_id="as-long-as-it-takes", seed=5, max_attempts=1)
    await page.evaluate(f"location.hash = '#/runs/{other}'")
    await page.until(f"{STATE} === 'finished'")
    await page.evaluate(f"location.hash = '#/compare/{rejected}/{other}'")
    await page.until("document.querySelectorAll('.turns-compared tbody tr').length > 2")
    bubbles = "document.querySelectorAll('.turns-compared tbody tr:first-child .student .bubble')"
    said = f"[...{bubbles}].map((one) => one.textContent)"
    question = await page.evaluate("document.getElementById('problem').options[0].textContent")
    assert all(question in opening for opening in await page.evaluate(said))
    cells = "[...document.querySelectorAll('.turns-compared tbody tr:last-child td')].map((one) => one.textContent)"
    shorter, longer = await page.evaluate(cells)
    assert longer
    assert not shorter
    await chosen(page, "problem", "1")
    await page.until(f"{said}.every((opening) => !opening.includes({question!r}))")


async def test_two_runs_are_compared_side_by_side(page: Page, rejected: str, grown: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{rejected}'")
    await page.until(f"{STATE} === 'incomplete'")
    await page.click(".tools a", "Compare")
    await page.until("document.querySelector('#second-run')")
    await chosen(page, "second-run", grown)
    await page.until("document.querySelectorAll('.runs-compared').length === 3")
    rows = await page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.runs-compared tbody tr')].map((row) =>"
        " [row.cells[0].textContent, [row.cells[1].textContent, row.cells[2].textContent]]))"
    )
    assert (rows["seed"], rows["maximum turns"], rows["conversations"]) == (["5", "0"], ["2", "20"], ["2", "6"])
    assert "recipe" not in rows
    assert rows["accepted"][0] == "0% (0 of 4)"
    assert rows["not solved"][0] == "100% (4 of 4)"
    assert await page.evaluate("location.hash") == f"#/compare/{rejected}/{grown}"
    await page.evaluate(
        "(() => { const real = fetch; window.polls = 0;"
        "window.fetch = (...call) => { window.polls += 1; return real(...call); }; })()"
    )
    await page.evaluate("document.querySelector('.runs-compared a').focus()")
    await page.until("window.polls >= 2")
    assert await page.evaluate("document.activeElement.tagName") == "A"


async def test_the_page_of_an_incomplete_run_notices_that_it_goes_on(page: Page, rejected: str) -> None:
    await page.evaluate(f"location.hash = '#/runs/{rejected}'")
    await page.until(f"{STATE} === 'incomplete'")
    await page.evaluate(
        "(() => { const real = fetch; window.fetch = async (path, options) => {"
        "if (path.endsWith('/watch')) window.watched = true;"
        f"if (path !== '/v1/runs/{rejected}') return real(path, options);"
        "const status = await (await real(path, options)).json();"
        "return Response.json({ ...status, state: 'RUN_STATE_RUNNING' }); }; })()"
    )
    await page.until("window.watched")


async def test_the_report_and_an_export_are_downloaded_from_the_page_of_the_run(page: Page, grown: str) -> None:
    await page.evaluate(SAVING)
    await page.evaluate(f"location.hash = '#/runs/{grown}'")
    await page.until("document.querySelector('.downloads .note')?.textContent.includes('conversations are written')")
    await page.until("document.querySelectorAll('#format option').length > 3")
    formats = await page.evaluate("[...document.querySelectorAll('#format option')].map((option) => option.value)")
    assert {"openai", "hf", "soliloquies"} <= {*formats}
    assert "mathdial" not in formats
    await chosen(page, "format", "openai")
    for text, name in (("Report", f"{grown}-report.html"), ("Export", f"{grown}-openai.jsonl")):
        await page.click(".downloads a", text)
        await page.until(f"saved[{name!r}]")
    assert (await page.evaluate(f"saved['{grown}-report.html']")).startswith("<!doctype html>")
    assert len((await page.evaluate(f"saved['{grown}-openai.jsonl']")).splitlines()) == 6
