"""A gateway's database with any number of conversations, and how long its pages take."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing

import aiohttp
from sqlalchemy import insert

from benchmarks.figures import quantile
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Ending, Summary
from soliloquy.v1.events_pb2 import ConversationCollected, RunChanged
from soliloquy.v1.gateway_pb2 import FinishedConversation
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.gateway.index import row_of
from soliloquy_services.gateway.runs import KnownRun
from soliloquy_services.gateway.store import Store

# One in so many is rejected, and has a flag.
REJECTED = 100
# Half of what the run under way wants; the others belong to runs that are over.
UNDER_WAY, A_RUN = 500_000, 1_000_000
_ROWS = 10_000
# How often each page is asked for.
PAGES = 100


def fill(url: str, run: str, first: int, conversations: int) -> None:
    """Adds so many to those that the store holds, the first ones to this run, whose ordinals begin at `first`."""
    with closing(Store(url)) as store:
        store.open()
        database, known = store.database, store.news(since=-1)[run].known
        parts = [(run, known, first, min(conversations, UNDER_WAY))]
        for number, start in enumerate(range(UNDER_WAY, conversations, A_RUN)):
            over = RunChanged(run=Run(id=f"over{number}", growing="g"), state=RunState.RUN_STATE_FINISHED)
            parts.append((f"over{number}-g", KnownRun(changed=over), 0, min(A_RUN, conversations - start)))
        for name, each, start, number in parts:
            for place in range(start, start + number, _ROWS):
                ordinals = range(place, min(place + _ROWS, start + number))
                with database.writing() as connection:
                    connection.execute(insert(database["finished"]), list(_rows(name, ordinals)))
                    connection.execute(
                        insert(database["settled"]), {"run": name, "first": ordinals[0], "past": ordinals[-1] + 1}
                    )
            rejected = len(range(start, start + number)[::REJECTED])
            each.progress.accepted += number - rejected
            each.progress.rejected += rejected
            each.progress.given_up += rejected
            each.flagged_rejected += rejected
        with database.writing() as connection:
            store.save(connection, {name: each for name, each, _, _ in parts})


def _rows(run: str, ordinals: range) -> Iterator[dict[str, object]]:
    question = "A baker cuts a loaf into twelve slices and sells three quarters of them before noon." * 2
    for ordinal in ordinals:
        is_rejected = ordinal % REJECTED == 0
        shown = FinishedConversation(
            id=digest(run, ordinal),
            run=run,
            ordinal=ordinal,
            ending=Ending.ENDING_SOLVED,
            accepted=not is_rejected,
            reasons=["length: turn 2: long"] * is_rejected,
            summary=Summary(topic="fractions", question=question, turns=6, python_turns=3, flags=is_rejected),
            finished_at=1.7e9 + ordinal,
        )
        yield row_of(ConversationCollected(), shown)


async def page_seconds(address: str, run: str) -> dict[str, float]:
    """Returns the p99 in milliseconds of each page, asked for one after the other."""
    conversations = f"/v1/runs/{run}/conversations"
    pages = {
        "runs": "/v1/runs",
        "run": f"/v1/runs/{run}",
        "conversations": conversations,
        "further": f"{conversations}?page_token={UNDER_WAY // 2}",
        "rejected": f"{conversations}?verdict=VERDICT_REJECTED&flagged=true",
        "rule": f"{conversations}?reason=length",
        "text": f"{conversations}?text=nowhere",
    }
    took: dict[str, list[float]] = {name: [] for name in pages}
    async with aiohttp.ClientSession(f"http://{address}") as session:
        for _ in range(PAGES):
            for name, path in pages.items():
                began = time.perf_counter()
                async with session.get(path) as answer:
                    answer.raise_for_status()
                    await answer.read()
                took[name].append(time.perf_counter() - began)
                # As people turn pages: the gateway limits how often one caller may ask.
                await asyncio.sleep(0.02)
    return {name: 1_000 * quantile(seconds, 0.99) for name, seconds in took.items()}
