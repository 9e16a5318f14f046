"""The promises of every transport about runs: remembered state, waiting events, cancellation."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from soliloquy.runtime.events import AnyOutcome, Event, Outcome, emit, first_event
from soliloquy.runtime.handling import NotYet, Service
from soliloquy.runtime.reading import messages
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1 import events_pb2
from soliloquy.v1.runs_pb2 import Run
from tests.integration.transport.support import QUICK, Connect, held, idle, serving, started, student
from tests.waiting import until

Started = events_pb2.ConversationStarted
Standing = events_pb2.RunStanding


def standing(run: str, *under_way: int) -> Event:
    return first_event(Standing(run=Run(id=run), under_way=under_way), source="test", time=1.0)


def cancelled(run: str) -> Event:
    return first_event(events_pb2.RunCancelled(run=Run(id=run)), source="test", time=1.0)


async def keys(transport: Transport, topic: str, numbers: Iterable[int] | None = None) -> set[str]:
    chosen = None if numbers is None else set(numbers)
    return {delivery.event.key async for delivery in transport.read(topic, chosen)}


class RunsContract:
    """Needs the fixture `connect`."""

    async def test_a_table_is_told_before_any_event_of_its_partitions(self, connect: Connect) -> None:
        known: dict[str, list[int]] = {}
        found: list[dict[str, list[int]]] = []

        def recall(messages: Sequence[Standing]) -> None:
            known.update({message.run.id: list(message.under_way) for message in messages})

        async def work(_message: Started) -> Outcome:
            found.append(dict(known))
            return emit()

        latest = {f"r{number}": [number, number + 1] for number in range(8)}
        async with connect() as transport:
            await transport.publish([standing(run, 99) for run in latest])
            await transport.publish([standing(run, *ordinals) for run, ordinals in latest.items()])
            await transport.publish([started("c")])
            service = Service(name="student", handlers={Started: work}, tables={Standing: recall}, retry=QUICK)
            async with serving(service, transport):
                await until(lambda: bool(found))
        assert found == [latest]

    async def test_each_place_of_a_run_has_a_row_in_the_partition_of_the_run(self, connect: Connect) -> None:
        rows = [Standing(run=Run(id=f"r{run}"), place=place) for run in range(8) for place in range(4)]
        async with connect() as transport:
            for ordinal in (1, 2):
                for row in rows:
                    row.under_way[:] = [ordinal]
                await transport.publish([first_event(row, source="test", time=1.0) for row in rows])
            latest: dict[tuple[str, int], list[int]] = {}
            partitions: defaultdict[str, set[int]] = defaultdict(set)
            async for delivery, found in messages(transport.read("run.standing")):
                assert isinstance(found, Standing)
                latest[found.run.id, found.place] = list(found.under_way)
                partitions[found.run.id].add(delivery.partition.number)
        assert latest == {(row.run.id, row.place): [2] for row in rows}
        assert {len(numbers) for numbers in partitions.values()} == {1}
        assert len(set.union(*partitions.values())) > 1

    async def test_a_topic_can_be_read_by_its_partitions(self, connect: Connect) -> None:
        every = {f"c{number}" for number in range(40)}
        async with connect() as transport:
            await transport.publish([started(key) for key in every])
            of_partition: defaultdict[int, set[str]] = defaultdict(set)
            for delivery in await held(transport, "conversation.started"):
                of_partition[delivery.partition.number].add(delivery.event.key)
            assert len(of_partition) > 1
            for number, expected in of_partition.items():
                assert await keys(transport, "conversation.started", [number]) == expected
            assert await keys(transport, "conversation.started", of_partition) == every

    async def test_a_follower_hears_what_was_and_what_comes(self, connect: Connect) -> None:
        heard: set[str] = set()

        async def follow(transport: Transport) -> None:
            async for delivery in transport.follow("run.cancelled"):
                heard.add(delivery.event.key)

        async with connect() as transport:
            await transport.publish([cancelled("before")])
            following = asyncio.create_task(follow(transport))
            await until(lambda: heard == {"before"})
            await transport.publish([cancelled("after")])
            await until(lambda: heard == {"before", "after"})
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def test_a_cancelled_run_is_interrupted_and_dropped_and_no_other_is(self, connect: Connect) -> None:
        begun: set[str] = set()
        interrupted: set[str] = set()
        go_on = asyncio.Event()

        async def work(message: Started) -> Outcome:
            begun.add(message.conversation.id)
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                interrupted.add(message.conversation.id)
                raise
            return emit(events_pb2.StudentReplied(conversation=message.conversation))

        ours, theirs = {f"ours-{number}" for number in range(4)}, {f"theirs-{number}" for number in range(4)}
        async with connect() as transport, serving(student(work), transport):
            await transport.publish(
                [started(f"{run}-{number}", number, run) for number in range(4) for run in ("ours", "theirs")]
            )
            await until(lambda: begun == ours | theirs)
            # A caller may cancel a run twice.
            await transport.publish([cancelled("ours"), replace(cancelled("ours"), id="again")])
            await until(lambda: interrupted == ours)
            await transport.publish([started(f"ours-{number}", number, "ours") for number in range(4, 8)])
            go_on.set()
            await until(lambda: idle(transport))
            assert await keys(transport, "student.replied") == theirs
            assert not await transport.dead_letters()
        assert interrupted == ours
        assert begun == ours | theirs

    async def test_an_event_of_a_cancelled_run_waits_for_nothing(self, connect: Connect) -> None:
        waiting: list[str] = []

        async def work(message: Started) -> Outcome:
            waiting.append(message.conversation.id)
            raise NotYet(asyncio.get_running_loop().create_future())

        async with connect() as transport, serving(student(work), transport):
            await transport.publish([started("c", run="ours")])
            await until(lambda: waiting == ["c"])
            await transport.publish([cancelled("ours")])
            await until(lambda: idle(transport))
        assert waiting == ["c"]

    async def test_what_a_service_follows_is_told_before_any_event_and_then_as_it_comes(self, connect: Connect) -> None:
        told: list[int] = []
        found: list[list[int]] = []

        async def work(_message: Started) -> Outcome:
            found.append([*told])
            return emit()

        def take(row: events_pb2.RunHeld) -> None:
            told.append(row.first)

        def held_from(first: int) -> Event:
            row = events_pb2.RunHeld(run=Run(id="r"), first=first)
            return first_event(row, source="test", time=1.0)

        async with connect() as transport:
            await transport.publish([held_from(1), started("c")])
            service = Service(name="student", handlers={Started: work}, follows={events_pb2.RunHeld: take}, retry=QUICK)
            async with serving(service, transport):
                await until(lambda: bool(found))
                await transport.publish([held_from(2)])
                await until(lambda: told == [1, 2])
        assert found == [[1]]

    async def test_what_waits_for_room_takes_no_worker_and_keeps_its_place(self, connect: Connect) -> None:
        room: dict[str, asyncio.Future[None]] = {}
        order: defaultdict[str, list[int]] = defaultdict(list)

        async def work(message: Started) -> AnyOutcome:
            key = message.conversation.id
            gate = room.setdefault(key, asyncio.get_running_loop().create_future())
            if key != "free" and not gate.done():
                raise NotYet(gate)
            order[key].append(message.conversation.ordinal)
            return emit()

        waiting = [f"w{number}" for number in range(12)]
        async with connect() as transport:
            service = Service(name="student", handlers={Started: work}, max_in_flight=4, max_fetched=500, retry=QUICK)
            async with serving(service, transport):
                await transport.publish([started(key, number) for number in range(5) for key in waiting])
                await transport.publish([started("free", number) for number in range(20)])
                await until(lambda: order == {"free": list(range(20))})
                for key in waiting:
                    room[key].set_result(None)
                await until(lambda: idle(transport))
        assert order == {"free": list(range(20)), **{key: list(range(5)) for key in waiting}}
