"""Writes a report of fifty thousand conversations within a minute; it opens like one of fifty."""

import asyncio
import json
import resource
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from soliloquy.v1.conversation_pb2 import Conversation
from tests.datasets import accepted_rows, timing_rows, written
from tests.e2e.chromium import chromium, needs_chromium
from tests.e2e.runs import SOLILOQUY, run
from tests.unit.scripted.growing import grown

pytestmark = needs_chromium

COUNT, DIFFERENT, A_SHARD = 50_000, 250, 5_000
# CPU seconds, which other work on the machine does not change: of the command, and of the browser until the report
# can be used and for each action.
WRITTEN_WITHIN, OPENED_WITHIN, USED_WITHIN = 60.0, 5.0, 1.0
ACTIONS = {
    "of a filter": "search.choose('topic', 1)",
    "of a page": "turnPage(search, 1)",
    "of a step in the list": "move(search, 1)",
    "of the last conversation": "openConversation(search, search.index.id.length - 1)",
}
RARE = "one conversation says this"


def repeated(different: list[Conversation]) -> Iterator[tuple[str, pa.RecordBatch]]:
    for first in range(0, COUNT, A_SHARD):
        shard = []
        for ordinal in range(first, first + A_SHARD):
            conversation = Conversation()
            conversation.CopyFrom(different[ordinal % DIFFERENT])
            conversation.id = f"{ordinal:024x}"
            shard.append(conversation)
        if first + A_SHARD == COUNT:
            shard[-1].turns[0].tutor.thoughts = RARE
        yield f"accepted/{first // A_SHARD:05}.parquet", accepted_rows(shard)
        yield f"timings/{first // A_SHARD:05}.parquet", timing_rows(shard, begun=first / 20, apart=0.05)


async def grown_ones() -> list[Conversation]:
    return [await grown(ordinal, seed=1) for ordinal in range(DIFFERENT)]


@pytest.mark.timeout(1200)
async def test_fifty_thousand_conversations_are_written_and_read_in_time(tmp_path: Path) -> None:
    folder = written(tmp_path / "dataset", repeated(await grown_ones()))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = await asyncio.to_thread(run, [SOLILOQUY, "report", str(folder)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (result.returncode, result.stderr) == (0, "")
    report = folder / "report.html"
    told = {
        "seconds of a processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "MiB of file": report.stat().st_size / 2**20,
    }
    async with chromium(tmp_path / "profile") as page:
        await page.sized(1280, 800)
        began = page.cpu_seconds()
        await page.open(report.as_uri())
        await page.until("performance.getEntriesByName('ready').length", seconds=60)
        paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        told["ms until the first paint"] = await page.evaluate(paint)
        told["ms until it can be used"] = await page.evaluate("performance.getEntriesByName('ready')[0].startTime")
        told["CPU seconds until it can be used"] = page.cpu_seconds() - began
        await page.evaluate("location.hash = 'conversations'")
        await page.until("document.querySelector('.turns > li')")
        for name, action in ACTIONS.items():
            began = page.cpu_seconds()
            acted = f"const begun = performance.now(); await {action}; return performance.now() - begun;"
            told[f"ms {name}"] = await page.evaluate(f"(async () => {{ {acted} }})()")
            told[f"CPU seconds {name}"] = page.cpu_seconds() - began
        await page.evaluate("search.choose('topic', null)")
        searching = f"performance.mark('search'), search.search({json.dumps(RARE)})"
        told["ms of a search through every text"] = await page.evaluate(
            f"({searching}).then(() => performance.measure('found', 'search').duration)"
        )
        assert await page.evaluate("search.rows") == [COUNT - 1]
        assert page.complaints == []
    print(json.dumps({name: round(figure, 2) for name, figure in told.items()}, indent=1))
    assert told["seconds of a processor"] < WRITTEN_WITHIN
    # The first paint does not wait for the conversations.
    assert told["ms until the first paint"] < told["ms until it can be used"]
    assert told["CPU seconds until it can be used"] < OPENED_WITHIN
    assert all(told[f"CPU seconds {name}"] < USED_WITHIN for name in ACTIONS)
