"""Lanes alone: which events run, wait and are dropped."""

import asyncio
from dataclasses import replace

from soliloquy.runtime.events import Event
from soliloquy.runtime.lanes import Hold, Lanes
from soliloquy.runtime.transports.port import Delivery, Partition

HERE, THERE = Partition("student.replied", 0), Partition("student.replied", 1)
EVENT = Event(id="", topic="student.replied", key="", payload=b"", source="student", time=0.0)


def delivery(key: str, offset: int, partition: Partition = HERE) -> Delivery:
    return Delivery(event=replace(EVENT, id=f"{key}{offset}", key=key), partition=partition, offset=offset)


class Gates:
    """Runs that start at once and end when the test releases them."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}

    def open(self, event_id: str) -> None:
        self._gates[event_id].set()

    async def run(self, delivery: Delivery) -> Hold | None:
        event_id = delivery.event.id
        self.begun.append(event_id)
        gate = self._gates[event_id] = asyncio.Event()
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(event_id)
            raise
        return None


async def turns() -> None:
    """Lets every runnable task run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_free_place_goes_to_the_next_lane_not_to_the_next_of_the_same() -> None:
    gates = Gates()
    async with asyncio.TaskGroup() as tasks:
        lanes = Lanes(1, gates.run, tasks)
        for item in [delivery("a", 1), delivery("a", 2), delivery("b", 3)]:
            lanes.add(item)
        for expected in ["a1", "b3", "a2"]:
            await turns()
            assert gates.begun[-1] == expected
            gates.open(expected)
        await turns()
    assert lanes.load[HERE] == 0
    assert lanes.in_use == 0


async def test_a_retired_partition_ends_with_what_runs() -> None:
    gates = Gates()
    async with asyncio.TaskGroup() as tasks:
        lanes = Lanes(4, gates.run, tasks)
        for item in [delivery("a", 1), delivery("a", 2), delivery("b", 3, THERE)]:
            lanes.add(item)
        await turns()
        (ended,) = lanes.retire([HERE])
        gates.open("a1")
        await asyncio.wait_for(ended, 120)
        gates.open("b3")
        await turns()
    assert gates.begun == ["a1", "b3"]
    assert not +lanes.load


async def test_a_cancelled_partition_frees_its_places_for_the_others() -> None:
    gates = Gates()
    async with asyncio.TaskGroup() as tasks:
        lanes = Lanes(1, gates.run, tasks)
        for item in [delivery("a", 1), delivery("a", 2), delivery("b", 3, THERE)]:
            lanes.add(item)
        await turns()
        lanes.cancel([HERE])
        await turns()
        assert gates.begun == ["a1", "b3"]
        assert gates.cancelled == ["a1"]
        gates.open("b3")
    assert not +lanes.load


async def test_a_held_event_stays_first_and_takes_no_place() -> None:
    begun: list[tuple[str, int]] = []
    last = asyncio.Event()

    async def run(delivery: Delivery) -> Hold | None:
        begun.append((delivery.event.id, delivery.event.attempt))
        if delivery.event.id == "a1" and delivery.event.attempt == 0:
            return Hold(delivery=replace(delivery, event=replace(delivery.event, attempt=1)), seconds=0.02)
        if delivery.event.id == "a2":
            last.set()
        return None

    async with asyncio.TaskGroup() as tasks:
        lanes = Lanes(1, run, tasks)
        for item in [delivery("a", 1), delivery("a", 2), delivery("b", 3)]:
            lanes.add(item)
        await asyncio.wait_for(last.wait(), 120)
    assert begun == [("a1", 0), ("b3", 0), ("a1", 1), ("a2", 0)]
