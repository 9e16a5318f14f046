import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import Any

from soliloquy.runtime.events import first_event
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.port import Delivery, Unanswered
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.store import Store
from soliloquy_services.gateway.topics import TopicFollower
from soliloquy_services.gateway.watching import MOST_KEPT, LatestFeed, Skipped, TailFeed


@asynccontextmanager
async def telling(latest: LatestFeed[Any, Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(latest.publish_changes())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def soon(watched: AsyncGenerator[int, None]) -> int:
    async with asyncio.timeout(120):
        return await anext(watched)


async def test_a_watcher_is_told_how_it_stands_and_then_only_what_is_another() -> None:
    values = {"run": 1}
    latest = LatestFeed(values.__getitem__)
    async with telling(latest), aclosing(latest.watch("run")) as watched:
        assert await soon(watched) == 1
        latest.mark_changed("run")
        values["run"] = 2
        latest.mark_changed("run")
        assert await soon(watched) == 2


async def test_a_change_of_all_is_told_to_the_watchers_of_each() -> None:
    values = {"one": 1, "other": 2}
    latest = LatestFeed(values.__getitem__)
    async with telling(latest), aclosing(latest.watch("one")) as one, aclosing(latest.watch("other")) as other:
        assert [await soon(one), await soon(other)] == [1, 2]
        values.update(one=3, other=4)
        latest.mark_all_changed()
        assert [await soon(one), await soon(other)] == [3, 4]


async def test_who_reads_slowly_gets_the_latest_and_nothing_that_was_overtaken() -> None:
    values = {"run": 0}
    latest = LatestFeed(values.__getitem__)
    async with telling(latest), aclosing(latest.watch("run")) as slow, aclosing(latest.watch("run")) as quick:
        assert [await soon(slow), await soon(quick)] == [0, 0]
        for number in (1, 2, 3):
            values["run"] = number
            latest.mark_changed("run")
            assert await soon(quick) == number
        assert await soon(slow) == 3


async def test_all_who_watch_the_same_are_told_the_same_object() -> None:
    values = {"run": object()}
    latest = LatestFeed(values.__getitem__)
    async with telling(latest), aclosing(latest.watch("run")) as one, aclosing(latest.watch("run")) as other:
        await anext(one), await anext(other)
        values["run"] = object()
        latest.mark_changed("run")
        assert await anext(one) is await anext(other)


async def test_who_leaves_is_forgotten() -> None:
    latest = LatestFeed({"run": 1}.__getitem__)
    async with aclosing(latest.watch("run")) as watched:
        await anext(watched)
        assert latest.readers == 1
    assert latest.readers == 0


async def test_a_slow_follower_keeps_so_many_and_is_told_how_many_it_missed() -> None:
    tails = TailFeed[int]()
    async with aclosing(tails.follow("run")) as tail:
        first = asyncio.create_task(anext(tail))
        await asyncio.sleep(0)
        for number in range(MOST_KEPT + 3):
            tails.publish("run", number)
        assert await first == Skipped(number=3)
        assert [await anext(tail) for _ in range(MOST_KEPT)] == list(range(3, MOST_KEPT + 3))
    assert tails.readers == 0


class Faltering(EmbeddedTransport):
    """Gives no answer behind the first event that is read."""

    faltered = False
    delivered = 0

    async def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        async for delivery in super().read(topic, numbers, starts):
            self.delivered += 1
            yield delivery
            if not self.faltered:
                self.faltered = True
                raise Unanswered("it is away")


async def test_what_was_heard_before_a_fault_is_not_heard_again(tmp_path: Path) -> None:
    async with Faltering(tmp_path / "log.sqlite") as log:
        runs = [RunChanged(run=Run(id=name, growing="g")) for name in "abcdef"]
        await log.publish([first_event(changed, source="gateway", time=1.0) for changed in runs])
        with closing(Store("")) as store:
            store.open()
            assert store.lease.take()
            follower = TopicFollower(log, store, lambda: None)
            await follower.catch_up()
            await follower.catch_up()
            assert log.faltered
            assert sorted(store.news(since=-1)) == [f"{name}-g" for name in "abcdef"]
    assert log.delivered == len(runs)
