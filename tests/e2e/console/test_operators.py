"""Checks what operators share, what a reader may do, and how failures are shown."""

import json
import time
from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.runs.installation import LOG
from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.events_pb2 import ProblemSubmitted
from soliloquy.v1.runs_pb2 import Run
from tests.e2e.chromium import Page, chromium, needs_chromium
from tests.e2e.console.hostile import HARMED, HOSTILE
from tests.e2e.consoles import READER, STATE, TITLE, Site, gone, opened, signed_in
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
        await page.until(f"{STATE} === 'running'")
        await other.click(".tools button", "Cancel")
        await other.click("dialog[open] button", "Keep it")
        await other.until("!document.querySelector('dialog')")
        assert await other.evaluate(STATE) == "running"
        await other.click(".tools button", "Cancel")
        await other.click("dialog[open] button", "Cancel the run")
        await page.until(f"{STATE} === 'cancelled' && !document.querySelector('.tools button')")
        assert other.complaints == []


async def test_a_reader_steers_nothing(served: Site, grown: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = served.started(2_000, request_id="for-a-reader", in_flight=1)
    async with chromium(tmp_path_factory.mktemp("reader"), offline=False) as reader:
        await signed_in(reader, served, READER)
        assert "reader" in await reader.evaluate("document.getElementById('session').textContent")
        assert not await reader.evaluate("document.querySelector('main').textContent.includes('Start a run')")
        await reader.evaluate(f"location.hash = '#/runs/{run}'")
        await reader.until(f"{STATE} === 'running'")
        assert await reader.evaluate("document.querySelectorAll('.tools button').length") == 0
        await opened(reader, grown)
        await gone(reader, "chat", "Chat")
        assert await reader.evaluate("document.querySelectorAll('main form').length") == 0
        await reader.click("#session button", "Sign out")
        await reader.until(f"{TITLE} === 'Sign in'")
        await reader.fill("#token", "nobody's token")
        await reader.press("Enter")
        await reader.until("document.getElementById('token-fault').textContent.includes('not known')")
    served.call("POST", f"/v1/runs/{run}/cancel", {})


async def test_a_dead_letter_is_read_and_tried_again(page: Page, served: Site, folder: Path) -> None:
    problem = load_bank("physics").problem(3, 0)
    run = Run(id="a" * 24, growing="b" * 8, recipe="soliloquy", max_turns=4, max_attempts=1, in_flight=1)
    letter = Event(
        id="letter",
        topic="problem.submitted.dlq",
        key="run",
        payload=ProblemSubmitted(run=run, problem=problem).SerializeToString(),
        source="test",
        time=time.time(),
        attempt=5,
        error=f"OSError: no route to the model {HOSTILE}",
    )
    async with EmbeddedTransport(folder / "data" / LOG) as transport:
        await transport.publish([letter])
    await gone(page, "dead-letters", "Dead letters")
    await page.until("document.querySelectorAll('.letters > li').length === 1")
    told = await page.evaluate("document.querySelector('.letters').textContent")
    assert f"no route to the model {HOSTILE}" in told
    assert "problem.submitted" in told
    await page.click(".letters button", "Try again")
    await page.until("document.querySelectorAll('.letters > li').length === 0")
    assert not await page.evaluate(HARMED)


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
