"""Conversations are found by paging, filters and search."""

import pytest

from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.v1.conversation_pb2 import Conversation, ErrorStrategy
from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.report.contents import COUNT, HIDDEN, ID_OF, chosen, listed, searched

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_the_list_has_pages(page: Page, conversations: list[Conversation]) -> None:
    await listed(page)
    everyone = len(conversations) + 1 + len(ID_OF)
    assert await page.evaluate(COUNT) == everyone
    seen: list[str] = []
    for _ in range(everyone // 40):
        seen += await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash.slice(1))")
        await page.evaluate("document.getElementById('next').click()")
    seen += await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash.slice(1))")
    assert len(seen) == len(set(seen)) == everyone
    assert await page.evaluate("document.getElementById('next').disabled")


async def test_filters_narrow_together(page: Page, conversations: list[Conversation]) -> None:
    await listed(page)
    topic = conversations[0].problem.topic
    await chosen(page, "topic", topic)
    of_topic = [c for c in conversations if c.problem.topic == topic]
    rejected = len(ID_OF) if conversations[-1].problem.topic == topic else 0
    assert await page.evaluate(COUNT) == len(of_topic) + rejected
    await chosen(page, "outcome", "accepted")
    await chosen(page, "program", "some")
    with_program = [c for c in of_topic if any(turn.HasField("calculation") for turn in c.turns)]
    assert await page.evaluate(COUNT) == len(with_program)
    await chosen(page, "student", with_program[0].persona)
    assert await page.evaluate(COUNT) == sum(c.persona == with_program[0].persona for c in with_program)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("outcome", "rejected (", [*ID_OF.values()]),
        ("outcome", "rejected: verdict", [*ID_OF.values()]),
        ("program", "one that failed", ["c0ffee"]),
    ],
)
async def test_a_filter_finds_those_it_is_for(page: Page, name: str, value: str, expected: list[str]) -> None:
    await listed(page)
    await chosen(page, name, value)
    links = await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash)")
    assert links == [f"#{one}" for one in expected]


async def test_a_filter_finds_what_was_drawn(
    page: Page, conversations: list[Conversation], calculated: Conversation
) -> None:
    # The last one is shown as markup.
    drawn = [
        {StudentLabels.FromString(turn.student.labels).strategy for turn in one.turns}
        for one in (*conversations, calculated)
    ]
    for strategy in set().union(*drawn) - {ErrorStrategy.ERROR_STRATEGY_UNSPECIFIED}:
        await listed(page)
        word = ErrorStrategy.Name(strategy).removeprefix("ERROR_STRATEGY_").lower().replace("_", " ")
        await chosen(page, "drawn", word)
        assert await page.evaluate(COUNT) == sum(strategy in found for found in drawn)
    for recipe, state in {"mathdial": "doubted", "scaffold": "confusion"}.items():
        await chosen(page, "drawn", state)
        links = await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash)")
        assert links == [f"#{ID_OF[recipe]}"]


async def test_a_search_reads_every_text(page: Page, calculated: Conversation) -> None:
    await listed(page)
    assert await searched(page, HIDDEN) == 1
    assert await page.evaluate("document.querySelector('#list a').hash") == f"#{calculated.id}"
    assert await searched(page, calculated.id[:24]) == 1
    assert await searched(page, "no conversation says this") == 0
    assert "No conversation matches" in await page.evaluate("document.getElementById('list').textContent")
    await page.press("Escape")
    assert await page.evaluate(COUNT) > 1
