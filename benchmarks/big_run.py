"""`python -m benchmarks big-run`."""

import asyncio
import gc
import random
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import click
import uvloop
from google.protobuf.message import Message
from rich.console import RenderableType
from sqlalchemy import func, select

from benchmarks import machine
from benchmarks.command import AS_JSON, Tell, show, status_line, table
from benchmarks.processes import own_resident_mib
from soliloquy.runtime.events import Event, first_event, key_of, message_of, run_key
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.transports.port import Delivery, Partition, Transport
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem, Summary, TokenUse
from soliloquy.v1.events_pb2 import ConversationCollected, ProblemSubmitted, RunChanged, RunStanding
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.curriculum.admission import Admission
from soliloquy_services.curriculum.handler import follow_up, start
from soliloquy_services.gateway.planning import Planning
from soliloquy_services.gateway.runs import RunTable
from soliloquy_services.gateway.shares import Shares
from soliloquy_services.gateway.steering import RunDriver
from soliloquy_services.gateway.store import Store
from soliloquy_services.gateway.topics import BATCH

# Every so many conversations are rejected, and tried again.
_REJECTED = 50
_RUN = Run(id="big", recipe="soliloquy", seed=1, growing="0", max_turns=20, max_attempts=3)
_SUMMARY = Summary(
    topic="fractions",
    question="A baker cuts a loaf into twelve slices and sells three quarters of them before noon.",
    turns=6,
    python_turns=3,
    tokens={"tutor": TokenUse(prompt=900, completion=200), "student": TokenUse(prompt=700, completion=100)},
)
_TABLES = ("finished", "under_way", "settled")


@click.command()
@click.option("--conversations", default=100_000, show_default=True, type=click.IntRange(min=10))
@click.option("--in-flight", default=65_536, show_default=True, type=click.IntRange(min=1))
@AS_JSON
def big_run(*, conversations: int, in_flight: int, as_json: bool) -> None:
    """Measure what a run of any length takes of its driver, its admission and the gateway's store, in one process.

    Conversations are synthetic and pass through no broker. Reports rate, memory and rows at each power of ten.
    """
    with status_line() as tell, tempfile.TemporaryDirectory() as folder:
        figures = uvloop.run(_measure(conversations, in_flight, Path(folder), tell))
    show(figures, _tables, as_json=as_json)


async def _measure(conversations: int, in_flight: int, folder: Path, tell: Tell) -> dict[str, Any]:
    facts = machine.facts()
    with closing(Store(f"sqlite:///{folder}/gateway.db")) as store:
        store.open()
        store.lease.take()
        run = _BigRun(conversations, in_flight, store, folder)
        marks = {}
        async for name, mark in run.marks(tell):
            marks[name] = {part: {"median": value, "min": value, "max": value} for part, value in mark.items()}
    return {"machine": facts, "rounds": 1, "in_flight": in_flight, "marks": marks, "targets": []}


class _BigRun:
    """Takes the place of the transport, the model services and the collector between the parts that are measured."""

    fault = ""

    def __init__(self, conversations: int, in_flight: int, store: Store, folder: Path) -> None:
        self._run = Run()
        self._run.CopyFrom(_RUN)
        self._run.in_flight = in_flight
        self._store, self._folder = store, folder
        self._runs = RunTable(shipped_models())
        self._admission = Admission()
        self._submitted: deque[ProblemSubmitted] = deque()
        self._published = asyncio.Event()
        self._under_way: list[Conversation] = []
        self._chance = random.Random(1)
        # The rows that compaction leaves of `run.standing`.
        self._rows: dict[str, RunStanding] = {}
        self._positions: dict[type[Message], dict[int, int]] = {RunStanding: {}, ConversationCollected: {}}
        request = RunRequest(conversations=conversations, in_flight=in_flight)
        changed = RunChanged(run=self._run, request=request, state=RunState.RUN_STATE_RUNNING, changed_at=1.0)
        store.change(changed, RunChanged(), leads=True)
        self._look()
        self._known = self._runs.by_id[run_key(_RUN)]

    async def publish(self, events: Sequence[Event]) -> None:
        for event in events:
            message = message_of(event)
            assert isinstance(message, ProblemSubmitted)
            self._submitted.append(message)
        self._published.set()

    def problems(self, _: RunRequest, tenant: str) -> "_BigRun":
        return self

    def problem(self, _seed: int, ordinal: int) -> Problem:
        return Problem(id=f"problem-{ordinal}", question=_SUMMARY.question)

    async def _turn(self, _: RunState | None, because: str) -> None:
        """The driver ends once it has asked for the last of its conversations to be written."""
        self._known.changed.state = RunState.RUN_STATE_FINISHED

    async def marks(self, tell: Tell) -> Any:
        shares = Shares(self._runs, None, lambda _: None)
        self._driver = RunDriver(
            self._known, self._store, cast(Planning, self), cast(Transport, self), self._turn, shares
        )
        driving = asyncio.create_task(self._driver.drive())
        driving.add_done_callback(lambda _: self._published.set())
        wanted = self._known.changed.request.conversations
        power, began, before = 1_000, time.perf_counter(), 0
        while not driving.done():
            standings = await self._admitted(driving)
            collected = [self._judged() for _ in range(min(BATCH, len(self._under_way)))]
            for each in collected:
                standings += self._taken(await follow_up(each, self._admission))
            self._take(RunStanding, standings)
            self._take(ConversationCollected, collected)
            done = self._known.progress.accepted
            tell(f"{done:,} of {wanted:,} conversations, {own_resident_mib():.0f} MiB")
            if done >= min(power, wanted) > before:
                now = time.perf_counter()
                yield f"{done:,}", {"per_second": (done - before) / (now - began), **self._sizes()}
                power, began, before = 10 * power, time.perf_counter(), done
        await driving

    async def _admitted(self, driving: asyncio.Task[None]) -> list[RunStanding]:
        """Starts problems until there is no room, or none is left."""
        standings: list[RunStanding] = []
        quota = self._known.quota
        while len(self._under_way) < min(self._run.in_flight, quota.wanted - quota.settled) and not driving.done():
            if self._submitted:
                standings += self._taken(await start(self._submitted.popleft(), self._admission))
            else:
                self._published.clear()
                await self._published.wait()
        await asyncio.sleep(0)
        return standings

    def _taken(self, outcome: Iterable[Message]) -> Iterator[RunStanding]:
        for message in outcome:
            if isinstance(message, RunStanding):
                self._rows[key_of(message)] = message
                yield message
            else:
                self._under_way.append(cast(Any, message).conversation)

    def _judged(self) -> ConversationCollected:
        # They end in any order.
        place = self._chance.randrange(len(self._under_way))
        self._under_way[place], self._under_way[-1] = self._under_way[-1], self._under_way[place]
        conversation = self._under_way.pop()
        conversation.ending = Ending.ENDING_SOLVED
        is_accepted = conversation.attempt > 0 or conversation.ordinal % _REJECTED > 0
        collected = ConversationCollected(conversation=conversation, accepted=is_accepted, summary=_SUMMARY)
        if is_accepted:
            collected.conversation.ClearField("problem")
        else:
            collected.reasons.append("length: turn 2: long")
        return collected

    def _take(self, kind: type[Message], messages: Sequence[RunStanding | ConversationCollected]) -> None:
        for first in range(0, len(messages), BATCH):
            positions = self._positions[kind]
            received = [
                (Delivery(event=first_event(each, source="", time=1.0), partition=Partition("", 0), offset=at), each)
                for at, each in enumerate(messages[first : first + BATCH], start=positions.get(0, 0))
            ]
            self._positions[kind] = self._store.take(kind, "topic", positions, received)
        self._look()
        self._driver.hear()

    def _look(self) -> None:
        for run_id, (stored, _) in self._store.news(self._runs.revision).items():
            self._runs.take(run_id, stored)

    def _sizes(self) -> dict[str, float]:
        gc.collect()
        database = self._store.database
        with database.reading() as connection:
            rows = {name: connection.execute(select(func.count()).select_from(database[name])) for name in _TABLES}
            return {
                "rss_mib": own_resident_mib(),
                "database_mib": sum(path.stat().st_size for path in self._folder.iterdir()) / 2**20,
                "standing_rows": len(self._rows),
                "standing_bytes": max(row.ByteSize() for row in self._rows.values()),
                **{f"{name}_rows": counted.scalar_one() for name, counted in rows.items()},
            }


def _tables(figures: dict[str, Any]) -> Iterable[RenderableType]:
    marks = figures["marks"]
    made = table("conversations", *next(iter(marks.values())))
    for name, mark in marks.items():
        made.add_row(name, *[f"{value['median']:,.0f}" for value in mark.values()])
    yield made
