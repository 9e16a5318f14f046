"""Checks what operators share, what a reader may do, and how failures are shown."""

import json
import time
from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.runs.supervision import LOG
from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.events_pb2 import ProblemSubmitted
from soliloquy.v1.runs_pb2 import Run
from tests.e2e.chromium import Page, chromium, needs_chromium
from tests.e2e.console.hostile import HARMED, HOSTILE
from tests.e2e.consoles import READER, STATE, TITLE, Site, gone, losing, opened, signed_in
from tests.e2e.runs import SOLILOQUY, said

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_what_one_operator_does_the_other_sees(
    page: Page, served: Site, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = served.started(2_000, request_id="for-two-operators", in_flight=2)
    async with chromium(tmp_path_factory.mktemp("other"), offline=False) as other:
        await signed_in(other, served)
        for one in (page, other):
            await one.evaluate(f"location.hash = '#/runs/{run}'")
            await one.until(f"{STATE} === 'running'")
        await page.click(".tools button", "Pause")
        await other.until(f"{STATE} === 'paused'")
        await other.click(".tools button", "Resume")
        for one in (page, other):
            await one.until(f"{STATE} === 'running'")
        await other.click(".tools button", "Cancel")
        await other.click("dialog[open] button", "Keep it")
        await other.until("!document.querySelector('dialog')")
        assert await other.evaluate(STATE) == "running"
        await other.click(".tools button", "Cancel")
        await other.click("dialog[open] button", "Cancel the run")
        await page.until(f"{STATE} === 'cancelled' && !document.querySelector('.tools button')")
        await gone(other, "audit", "Audit")
        rows = "[...document.querySelectorAll('main tbody tr')].map((row) => row.textContent)"
        await other.until(f"{rows}.some((row) => row.includes('CancelRun{run}done'))")
        assert other.complaints == []


async def test_a_reader_steers_nothing(served: Site, grown: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = served.started(2_000, request_id="for-a-reader", in_flight=1)
    async with chromium(tmp_path_factory.mktemp("reader"), offline=False) as reader:
        await signed_in(reader, served, READER)
        assert "reader" in await reader.evaluate("document.getElementById('session').textContent")
        assert not await reader.evaluate("document.querySelector('main').textContent.includes('Start a run')")
        assert await reader.evaluate("document.querySelector('[data-page=audit]').hidden")
        await reader.evaluate(f"location.hash = '#/runs/{run}'")
        await reader.until(f"{STATE} === 'running'")
        assert await reader.evaluate("document.querySelectorAll('.tools button').length") == 0
        await opened(reader, grown)
        await gone(reader, "chat", "Chat")
        assert await reader.evaluate("document.querySelectorAll('main form').length") == 0
        await losing(reader, "options.method === 'DELETE'")
        await reader.click("#session button", "Sign out")
        await reader.until("document.querySelector('.toast')")
        assert "reader" in await reader.evaluate("document.getElementById('session').textContent")
        await reader.click("#session button", "Sign out")
        await reader.until(f"{TITLE} === 'Sign in'")
        await reader.fill("#token", "nobody's token")
        await reader.press("Enter")
        await reader.until("document.getElementById('token-fault').textContent.includes('not known')")
    served.call("POST", f"/v1/runs/{run}/cancel", {})


def dead(letter: str, error: str) -> Event:
    problem = load_bank("physics").problem(3, 0)
    run = Run(id="a" * 24, growing="b" * 8, recipe="soliloquy", max_turns=4, max_attempts=1, in_flight=1)
    return Event(
        id=letter,
        topic="problem.submitted.dlq",
        key="run",
        payload=ProblemSubmitted(run=run, problem=problem).SerializeToString(),
        source="test",
        time=time.time(),
        attempt=5,
        error=error,
    )


async def test_dead_letters_are_read_by_their_cause_and_replayed_together(
    page: Page, served: Site, folder: Path
) -> None:
    letters = [dead(f"letter{number}", f"OSError: no route to model {number} {HOSTILE}") for number in range(3)]
    async with EmbeddedTransport(folder / "data" / LOG) as transport:
        await transport.publish([*letters, dead("other", "Refused: a prompt is broken")])
    await gone(page, "dead-letters", "Dead letters")
    await page.until("document.querySelectorAll('.letters > li').length === 2")
    told = await page.evaluate("document.querySelector('.letters > li').textContent")
    assert f"no route to model 2 {HOSTILE}" in told
    assert "3 letters" in told
    assert "problem.submitted" in told
    await page.click(".letters summary", "Show the letters")
    await page.until("document.querySelectorAll('.single > li').length === 3")
    await page.click(".single button", "Replay")
    await page.until("document.querySelector('.letters > li')?.textContent.includes('2 letters')")
    await page.evaluate("document.querySelector('.letters > li > button').focus()")
    await page.click(".letters > li > button", "Replay all 2")
    await page.until("document.querySelectorAll('.letters > li').length === 1")
    assert await page.evaluate("document.activeElement.id") == "main"
    await page.click(".letters > li > button", "Replay it")
    await page.until("document.querySelector('.nothing').checkVisibility()")
    assert not await page.evaluate(HARMED)


async def test_a_reader_replays_nothing(served: Site, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    async with EmbeddedTransport(folder / "data" / LOG) as transport:
        await transport.publish([dead("for-a-reader", "Refused: a prompt is broken")])
    async with chromium(tmp_path_factory.mktemp("reader-of-letters"), offline=False) as reader:
        await signed_in(reader, served, READER)
        await gone(reader, "dead-letters", "Dead letters")
        await reader.until("document.querySelectorAll('.letters > li').length === 1")
        assert await reader.evaluate("document.querySelectorAll('main button:not([hidden], .pages *)').length") == 0
        refused = "fetch('/v1/dead-letters/replay', { method: 'POST' }).then((answer) => answer.status)"
        assert await reader.evaluate(refused) == 403
    assert served.call("POST", "/v1/dead-letters/replay", {}) == {"replayed": "1", "left": "0"}


async def test_an_empty_training_page_says_what_to_do(page: Page) -> None:
    await gone(page, "training", "Training")
    await page.until("document.querySelectorAll('.to-do .command').length === 5")
    commands = await page.evaluate("[...document.querySelectorAll('.command')].map((one) => one.textContent)")
    for command in commands:
        words = command.split()
        options = [word for word in words if word.startswith("--")]
        names = words[1 : next(place for place, word in enumerate(words) if word.startswith(("--", "trained/")))]
        shown = said([SOLILOQUY, *names, "--help-all"])
        assert shown.returncode == 0, command
        assert all(option in shown.stdout for option in options), command


async def test_the_pipeline_shows_every_service(page: Page) -> None:
    await gone(page, "pipeline", "Pipeline")
    await page.until("document.querySelector('.pipeline .note').textContent !== 'Loading…'")
    names = await page.evaluate("[...document.querySelectorAll('.node .name')].map((name) => name.textContent)")
    rows = await page.evaluate("[...document.querySelectorAll('.topics tbody th')].map((name) => name.textContent)")
    assert set(rows) <= set(names)
    assert len(set(rows)) == len(names) == 8
    assert await page.evaluate("document.querySelectorAll('.ways [data-to]').length") > 8


@pytest.mark.usefixtures("grown")
async def test_top_finds_every_process_the_gateway_too(metrics: int) -> None:
    told = said([SOLILOQUY, "top", "--http-from", str(metrics), "--once", "--json", "--every", "0ms"])
    assert told.returncode == 0, told.stderr
    now = json.loads(told.stdout)
    assert (now["processes"], now["silent"]) == (3, {})
    assert len(now["stages"]) == 8
