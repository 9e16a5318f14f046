"""Shows a hundred thousand conversations in the console: the list, its pages and its search stay quick."""

import time
from pathlib import Path

import pytest

from benchmarks.processes import cpu_seconds, stats
from soliloquy.runs.supervision import LOG
from soliloquy.runtime.events import Event, first_event, run_key
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary
from soliloquy.v1.events_pb2 import ConversationCollected, RunChanged, RunProgress
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from tests.e2e.chromium import Page, chromium, needs_chromium
from tests.e2e.consoles import Site, signed_in, site

pytestmark = needs_chromium

CONVERSATIONS, AT_ONCE = 100_000, 2_000
RUN = Run(id="c" * 24, growing="d" * 8, recipe="soliloquy", max_turns=20, max_attempts=1)
ROWS = "document.querySelectorAll('.list a').length"
# CPU seconds of the gateway and the browser for a response that feels immediate.
SOON = 1.0


def collected(ordinal: int) -> Event:
    conversation = Conversation(id=f"{ordinal:024x}", run=RUN, ordinal=ordinal, ending=Ending.ENDING_SOLVED)
    summary = Summary(topic="heat", question=f"What is the temperature of body {ordinal}?", turns=4, python_turns=2)
    message = ConversationCollected(conversation=conversation, accepted=ordinal % 10 > 0, summary=summary)
    return first_event(message, source="test", time=1_700_000_000 + ordinal)


async def filled(log: Path) -> None:
    request = RunRequest(recipe="soliloquy", problems="physics", conversations=CONVERSATIONS)
    kept = CONVERSATIONS * 9 // 10
    over = RunChanged(
        run=RUN,
        request=request,
        request_id="large",
        requested_at=1_700_000_000,
        changed_at=1_700_100_000,
        state=RunState.RUN_STATE_SHORT,
        progress=RunProgress(accepted=kept, rejected=CONVERSATIONS - kept),
    )
    async with EmbeddedTransport(log) as transport:
        await transport.publish([first_event(over, source="test", time=1_700_000_000)])
        for start in range(0, CONVERSATIONS, AT_ONCE):
            await transport.publish([collected(ordinal) for ordinal in range(start, start + AT_ONCE)])


async def within(page: Page, served: Site, told: str, do: str, condition: str) -> None:

    def spent() -> float:
        return page.cpu_seconds() + cpu_seconds(stats()[served.gateway])

    began, before = time.monotonic(), spent()
    await page.evaluate(do)
    await page.until(condition)
    seconds, cpu = time.monotonic() - began, spent() - before
    print(f"{told}: {seconds * 1_000:.0f} ms, {cpu * 1_000:.0f} ms of CPU")
    assert cpu < SOON, told


@pytest.mark.timeout(600)
@pytest.mark.asyncio
async def test_a_hundred_thousand_conversations_are_listed_turned_and_searched_at_once(tmp_path: Path) -> None:
    (tmp_path / "data" / LOG).parent.mkdir(parents=True)
    await filled(tmp_path / "data" / LOG)
    with site(tmp_path) as served:
        async with chromium(tmp_path / "profile", offline=False) as page:
            await signed_in(page, served)
            run = run_key(RUN)
            await page.until("document.querySelectorAll('table.runs tbody tr').length === 1")
            await within(page, served, "the list", f"location.hash = '#/runs/{run}'", f"{ROWS} === 40")
            assert "100,000" in await page.evaluate("document.querySelector('.found').textContent")
            first = await page.evaluate("document.querySelector('.list a').hash")
            turned = f"document.querySelector('.list a').hash !== {first!r}"
            await within(page, served, "a page on", "document.querySelectorAll('.pages button')[1].click()", turned)
            rejected = "[...document.querySelectorAll('.choice input')][2].click()"
            await within(
                page, served, "a filter", rejected, "document.querySelector('.found').textContent.startsWith('10,000')"
            )
            await page.evaluate("[...document.querySelectorAll('.choice input')][0].click()")
            await page.fill(".narrowing input[type=search]", "")
            searched = (
                "(() => { const search = document.querySelector('.narrowing input[type=search]');"
                "search.value = 'body 77777'; search.dispatchEvent(new Event('input')); })()"
            )
            await within(page, served, "a search", searched, f"{ROWS} === 1")
