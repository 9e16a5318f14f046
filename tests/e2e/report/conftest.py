"""A report of accepted and rejected conversations, opened in a real browser from a file and without a network."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.sandbox_pb2 import Lane
from tests.datasets import accepted_rows, rejected_rows, timing_rows, written
from tests.e2e.chromium import Page, chromium
from tests.e2e.report.contents import HIDDEN, HOSTILE, ID_OF, READY, copied, hostile, of_recipe
from tests.e2e.runs import SOLILOQUY, said
from tests.unit.scripted.growing import grown

GROWN, COPIES = 8, 12


@pytest.fixture(scope="package")
def conversations() -> list[Conversation]:
    async def all_of_them() -> list[Conversation]:
        return [await grown(ordinal, seed=11) for ordinal in range(GROWN)]

    made = asyncio.run(all_of_them())
    for conversation in made:
        for turn in conversation.turns:
            for attempt in turn.calculation.attempts:
                attempt.execution.lane = Lane.LANE_FAST
    return [copied(one, f"{copy:02x}{place:022x}") for copy in range(COPIES) for place, one in enumerate(made)]


@pytest.fixture(scope="package")
def calculated(conversations: list[Conversation]) -> Conversation:
    """One that has a program which found the student right."""
    found = next(c for c in conversations if any(turn.calculation.attempts for turn in c.turns))
    attempts = next(turn.calculation.attempts for turn in found.turns if turn.calculation.attempts)
    attempts[0].code += f"\n# {HIDDEN}"
    return found


@pytest.fixture(scope="package")
def folder(
    tmp_path_factory: pytest.TempPathFactory, conversations: list[Conversation], calculated: Conversation
) -> Path:
    assert calculated in conversations
    shards = [
        ("accepted/00000.parquet", accepted_rows([*conversations, hostile(calculated)])),
        *(
            (
                f"rejected/{number:05}.parquet",
                rejected_rows([(of_recipe(conversations[-1], recipe), [f"verdict: turn 1: {HOSTILE}"])]),
            )
            for number, recipe in enumerate(ID_OF)
        ),
        ("timings/00000.parquet", timing_rows(conversations, begun=1_000, apart=0.5)),
    ]
    out = written(tmp_path_factory.mktemp("dataset"), shards)
    result = said([SOLILOQUY, "report", str(out)])
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"The report: {(out / 'report.html').as_uri()}\n"
    return out


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Page]:
    async with chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest_asyncio.fixture(loop_scope="package")
async def page(browser: Page, folder: Path) -> AsyncIterator[Page]:
    """Opened anew; no test may leave a complaint or have asked for anything but the file."""
    await browser.open_anew((folder / "report.html").as_uri())
    await browser.until(READY)
    yield browser
    assert browser.complaints == []
    assert {address.partition("#")[0] for address in browser.requests} <= {
        "about:blank",
        (folder / "report.html").as_uri(),
    }
