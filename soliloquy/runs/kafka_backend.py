"""Executes a run by the services that share a Kafka."""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from soliloquy.recipes.recipe import find
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.progress import overdue
from soliloquy.runtime import reading
from soliloquy.runtime.events import (
    ConversationEvent,
    RunEvent,
    Undecodable,
    first_event,
    message_of,
    ordinal_of,
    run_key,
    run_of,
)
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.reading import messages, open_ordinals
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.v1.events_pb2 import ConversationFinished, RunCancelled, RunStanding
from soliloquy.v1.runs_pb2 import Run

if TYPE_CHECKING:
    from soliloquy_services.collector.journal import Journal

FINISHED = TOPIC_OF[ConversationFinished].name
STANDING = TOPIC_OF[RunStanding].name
# The position in the results is saved this often; results behind it are read again and recognized by their ids.
NOTE_SECONDS = 1.0
LOOK_SECONDS = 1.0
# The backlog of all services is read this often.
OVERDUE_SECONDS = 15.0
# An interrupted run waits this long for the curriculum to confirm that nothing is under way.
CANCEL_SECONDS = 5.0


class KafkaBackend:
    """Services that `soliloquy up` or a cluster keeps running. Results are read from their topic, without a group."""

    # The services wait for their endpoints, and say so themselves.
    endpoints: Sequence[EndpointStatus] = ()

    def __init__(self, settings: KafkaSettings, folder: RunFolder) -> None:
        self._settings = settings
        self._note = folder.working / "kafka.json"
        self._positions: dict[int, int] = {}
        self._cancelled = False
        self.fault = ""
        self.execution = uuid.uuid4().hex[:8]
        if self._note.exists():
            noted = json.loads(self._note.read_bytes())
            self.execution = noted["growing"]
            self._positions = {int(number): offset for number, offset in noted["positions"].items()}

    @property
    def topics(self) -> Mapping[str, Any]:
        return {FINISHED: {str(number): offset for number, offset in sorted(self._positions.items())}}

    @asynccontextmanager
    async def prepared(self, run: Run, journal: "Journal") -> AsyncIterator[Transport]:
        async with open_transport(self._settings) as transport, asyncio.TaskGroup() as group:
            self._transport = transport
            ends = await transport.ends(FINISHED)
            # Results from before the run began belong to other runs.
            self._positions = self._positions or ends
            self._write_note()
            caught_up = asyncio.Event()
            collecting = group.create_task(self._collect(run, journal, ends, caught_up))
            # Problems with a result in the topic need not be submitted again.
            await caught_up.wait()
            looking = group.create_task(self._look())
            yield transport
            collecting.cancel()
            looking.cancel()
            self._write_note()

    async def dead_letters(self, run: Run) -> int:
        return len(await self._dead_ordinals(run))

    async def is_stuck(self, run: Run) -> bool:
        try:
            dead = await self._dead_ordinals(run)
            return bool(dead) and await open_ordinals(self._transport, run) <= dead
        except Unanswered:
            return False

    async def cancel(self, run: Run) -> int | None:
        dropped = len(await open_ordinals(self._transport, run))
        # A cancelled execution is never resumed; the next start uses a new id.
        self._cancelled = True
        self._note.unlink()
        ends = await self._transport.ends(STANDING)
        cancelled = first_event(RunCancelled(run=run), source="soliloquy", time=time.time())
        await self._transport.publish([cancelled])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS), aclosing(self._transport.follow(STANDING, ends)) as heard:
                async for delivery in heard:
                    if delivery.event.key == cancelled.key:
                        return dropped
        raise KafkaUnavailable(
            f"no curriculum confirmed the cancellation within {CANCEL_SECONDS:g} s; it takes effect when one is up"
        )

    async def settle(self) -> None:
        """Leaves everything to the services."""

    async def _look(self) -> None:
        """Keeps `fault` up to date."""
        late, read_at = "", time.monotonic()
        while True:
            try:
                await self._transport.dead_letters()
                if time.monotonic() - read_at >= OVERDUE_SECONDS:
                    late, read_at = overdue(await self._transport.backlog()), time.monotonic()
                self.fault = late
            except Unanswered as error:
                self.fault = str(error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _collect(self, run: Run, journal: "Journal", ends: dict[int, int], caught_up: asyncio.Event) -> None:
        noted_at = time.monotonic()
        if self._is_past(ends):
            caught_up.set()
        async for delivery in self._transport.follow(FINISHED, self._positions):
            # The collector turns an undecodable event into a dead letter and logs it.
            with contextlib.suppress(Undecodable):
                message = message_of(delivery.event)
                assert isinstance(message, ConversationFinished)
                conversation = message.conversation
                if run_key(conversation.run) == run_key(run):
                    await journal.add(conversation, find(run.recipe).faults(conversation))
            self._positions[delivery.partition.number] = delivery.offset + 1
            if self._is_past(ends):
                caught_up.set()
            if time.monotonic() - noted_at >= NOTE_SECONDS:
                noted_at = time.monotonic()
                self._write_note()

    def _is_past(self, ends: dict[int, int]) -> bool:
        return all(self._positions.get(number, 0) >= end for number, end in ends.items())

    async def _dead_ordinals(self, run: Run) -> set[int | None]:
        """Returns the problems of the run that ended among the dead letters; undecodable letters belong to no run."""
        found: set[int | None] = set()
        if await self._transport.dead_letters():
            async for _, message in messages(reading.letters(self._transport)):
                assert isinstance(message, ConversationEvent | RunEvent)
                if run_key(run_of(message)) == run_key(run):
                    found.add(ordinal_of(message))
        return found

    def _write_note(self) -> None:
        if self._cancelled:
            return
        with atomic_file(self._note) as file:
            file.write(json.dumps({"growing": self.execution, "positions": self._positions}).encode())
