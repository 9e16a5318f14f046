"""The promises of every transport about parked events, duplicates, dead letters and changing members."""

import asyncio
import signal
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from soliloquy.runtime import reading
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.retry import parked
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1 import events_pb2
from tests.integration.transport.support import (
    Connect,
    Worker,
    held,
    idle,
    metric,
    ordinals,
    place,
    reply,
    serving,
    started,
    student,
)
from tests.waiting import until

Started = events_pb2.ConversationStarted

EVENTS, KEYS = 300, 30


class RecoveryContract:
    """Needs the fixtures `connect`, `address` and `adapter` (the module with which a worker process connects)."""

    # How many events a killed process may repeat, besides those that were running.
    repeats_after_a_kill = 0

    async def test_later_events_of_a_parked_key_wait_for_it_in_order(self, connect: Connect) -> None:
        tried: defaultdict[str, list[int]] = defaultdict(list)

        async def work(message: Started) -> Outcome:
            key, ordinal = place(message)
            tried[key].append(ordinal)
            if (key, ordinal) == ("ill", 0) and tried[key].count(0) == 1:
                raise ValueError("not yet")
            return await reply(message)

        async with connect() as transport, serving(student(work), transport):
            await transport.publish([started(key, number) for number in range(20) for key in ("ill", "well")])
            await until(lambda: idle(transport))
            replies = ordinals(await held(transport, "student.replied"))
        assert tried["ill"] == [0, *range(20)]
        assert replies == {"ill": list(range(20)), "well": list(range(20))}

    async def test_an_event_that_fails_again_keeps_its_place(self, connect: Connect) -> None:
        tried: list[int] = []

        async def work(message: Started) -> Outcome:
            ordinal = message.conversation.ordinal
            tried.append(ordinal)
            if tried.count(ordinal) < 3 and ordinal in (2, 5):
                raise ValueError("not yet")
            return await reply(message)

        async with connect() as transport, serving(student(work), transport):
            await transport.publish([started("c", number) for number in range(9)])
            await until(lambda: idle(transport))
            assert ordinals(await held(transport, "student.replied")) == {"c": list(range(9))}
            assert not await transport.dead_letters()
        assert tried == [0, 1, 2, 2, 2, 3, 4, 5, 5, 5, 6, 7, 8]

    async def test_a_parked_key_keeps_its_order_across_a_restart(self, connect: Connect) -> None:
        ill = True

        async def work(message: Started) -> Outcome:
            if ill and message.conversation.ordinal == 1:
                raise ValueError("not yet")
            return await reply(message)

        parked = metric("soliloquy_events_parked_total")
        async with connect() as transport:
            async with serving(student(work), transport):
                await transport.publish([started("c", number) for number in range(5)])
                await until(lambda: metric("soliloquy_events_parked_total") > parked)
            ill = False
            await transport.publish([started("c", number) for number in range(5, 10)])
        async with connect() as transport, serving(student(work), transport):
            await until(lambda: idle(transport))
            assert ordinals(await held(transport, "student.replied")) == {"c": list(range(10))}

    async def test_an_event_due_in_centuries_is_handled_at_once(self, connect: Connect) -> None:
        async with connect() as transport, serving(student(reply), transport):
            await transport.publish([replace(parked(started("c")), not_before=4e9)])
            await until(lambda: idle(transport))
            assert len(await held(transport, "student.replied")) == 1

    async def test_an_event_completed_lately_is_dropped(self, connect: Connect) -> None:
        duplicates = metric("soliloquy_events_duplicate_total")
        event = started("c")
        async with connect() as transport, serving(student(reply), transport):
            await transport.publish([event, event])
            await transport.publish([event])
            await until(lambda: idle(transport))
            assert len(await held(transport, "student.replied")) == 1
        assert metric("soliloquy_events_duplicate_total") - duplicates == 2

    async def test_what_finished_ahead_of_a_stuck_event_is_not_run_again(self, connect: Connect) -> None:
        runs: Counter[str] = Counter()
        stuck = True

        async def work(message: Started) -> Outcome:
            runs[message.conversation.id] += 1
            if stuck and message.conversation.id == "stuck":
                await asyncio.Event().wait()
            return await reply(message)

        keys = ["stuck", *[f"c{number}" for number in range(100)]]
        async with connect() as transport:
            async with serving(student(work, max_in_flight=200), transport, grace=0.0):
                await transport.publish([started(key) for key in keys])
                await until(lambda: len(runs) == 101)
            stuck = False
            async with serving(student(work), transport):
                await until(lambda: idle(transport))
            assert len(await held(transport, "student.replied")) == 101
        assert runs == Counter({**dict.fromkeys(keys, 1), "stuck": 2})

    async def test_a_replayed_dead_letter_is_handled_again_under_its_id(self, connect: Connect) -> None:
        seen: list[int] = []
        ill = True

        async def work(message: Started) -> Outcome:
            seen.append(message.conversation.ordinal)
            if ill:
                raise ValueError("not yet")
            return await reply(message)

        first, second = started("c", 1), started("d", 2)
        async with connect() as transport, serving(student(work), transport):
            await transport.publish([first, second])
            await until(lambda: idle(transport))
            ill = False
            assert await reading.replay(transport, [first.id]) == 1
            await until(lambda: idle(transport))
            assert ordinals(await held(transport, "student.replied")) == {"c": [1]}
            assert [letter.event.id async for letter in reading.letters(transport)] == [second.id]
            assert await reading.replay(transport, []) == 1
            await until(lambda: idle(transport))
            assert ordinals(await held(transport, "student.replied")) == {"c": [1], "d": [2]}
            assert not await transport.dead_letters()
            assert await reading.replay(transport, []) == 0
            with pytest.raises(reading.NoSuchLetter, match=first.id):
                await reading.replay(transport, [first.id])

    async def test_the_backlog_tells_what_is_left_and_how_old_it_is(self, connect: Connect) -> None:
        admitted = asyncio.Event()

        async def work(_message: Started) -> Outcome:
            await admitted.wait()
            return emit()

        async with connect() as transport, serving(student(work), transport):
            # After the group has joined.
            await until(lambda: idle(transport))
            await transport.publish([started(f"c{number}") for number in range(30)])
            (left,) = [backlog for backlog in await transport.backlog() if backlog.events]
            assert (left.group, left.topic, left.events) == ("student", "conversation.started", 30)
            assert 0 < left.oldest_seconds < 20
            admitted.set()
            await until(lambda: idle(transport))

    async def test_members_that_join_and_leave_share_the_work_and_lose_none(self, connect: Connect) -> None:
        done: defaultdict[int, Counter[str]] = defaultdict(Counter)

        def member(number: int) -> Callable[[Started], Awaitable[Outcome]]:
            async def work(message: Started) -> Outcome:
                done[number][message.conversation.id] += 1
                await asyncio.sleep(0.001)
                return await reply(message)

            return work

        ordinal = 0

        async def publish(transport: Transport) -> bool:
            nonlocal ordinal
            await transport.publish([started(f"c{key}", ordinal) for key in range(KEYS)])
            ordinal += 1
            return False

        async with connect() as transport, AsyncExitStack() as members:
            await members.enter_async_context(serving(student(member(0)), transport))
            await until(lambda: idle(transport))
            async with serving(student(member(1)), transport):

                async def shared() -> bool:
                    await publish(transport)
                    return len(done[1]) >= KEYS // 4

                await until(shared)
            for _ in range(5):
                await publish(transport)
            await until(lambda: idle(transport))
            replies = ordinals(await held(transport, "student.replied"))
        assert replies == {f"c{key}": list(range(ordinal)) for key in range(KEYS)}
        assert len(done[0]) == KEYS

    async def test_a_handler_that_outlasts_every_timeout_keeps_its_partition(self, connect: Connect) -> None:
        runs = 0
        long = asyncio.Event()

        async def work(message: Started) -> Outcome:
            nonlocal runs
            runs += 1
            await long.wait()
            return await reply(message)

        async with (
            connect() as transport,
            serving(student(work), transport, grace=0.0),
            serving(student(work), transport, grace=0.0),
        ):
            await transport.publish([started(f"c{number}") for number in range(8)])
            asyncio.get_running_loop().call_later(4.0, long.set)
            await until(lambda: idle(transport))
            assert len(await held(transport, "student.replied")) == 8
        assert runs == 8

    async def test_a_killed_worker_loses_no_event_and_keeps_the_order(
        self, connect: Connect, adapter: str, address: str
    ) -> None:
        async with connect() as transport, AsyncExitStack() as stack:
            workers = [await Worker(adapter, address, 0.1).start() for _ in range(2)]
            for worker in workers:
                stack.push_async_callback(worker.kill)
            await transport.publish([started(f"c{number % KEYS}", number // KEYS) for number in range(EVENTS)])

            async def begun() -> bool:
                return len(await held(transport, "student.replied")) >= EVENTS // 5

            await until(begun)
            await workers[0].kill()
            successor = await Worker(adapter, address, 0.1).start()
            stack.push_async_callback(successor.kill)
            await until(lambda: idle(transport))
            replies = ordinals(await held(transport, "student.replied"))
        repeats = sum(map(len, replies.values())) - EVENTS
        assert repeats <= self.repeats_after_a_kill
        assert {key: list(dict.fromkeys(found)) for key, found in replies.items()} == {
            f"c{key}": list(range(EVENTS // KEYS)) for key in range(KEYS)
        }

    def keeps_others_out(self, address: str) -> bool:
        """Whether a process was stopped while it held what all need."""
        return False

    @pytest.mark.thorough
    async def test_a_worker_that_wakes_after_its_lease_is_fenced(
        self, connect: Connect, adapter: str, address: str
    ) -> None:
        async with connect() as transport, AsyncExitStack() as stack:
            sleeper = await Worker(adapter, address, 0.2).start()
            stack.push_async_callback(sleeper.kill)
            await transport.publish([started(f"c{number % KEYS}", number // KEYS) for number in range(EVENTS)])

            async def begun() -> bool:
                return len(await held(transport, "student.replied")) >= EVENTS // 10

            await until(begun)
            sleeper.send(signal.SIGSTOP)
            while self.keeps_others_out(address):
                sleeper.send(signal.SIGCONT)
                await asyncio.sleep(0.01)
                sleeper.send(signal.SIGSTOP)
            second = await Worker(adapter, address, 0.05).start()
            stack.push_async_callback(second.kill)
            await until(lambda: idle(transport))
            sleeper.send(signal.SIGCONT)
            await transport.publish([started(f"c{key}", EVENTS // KEYS) for key in range(KEYS)])
            await until(lambda: idle(transport))
            sleeper.send(signal.SIGTERM)
            assert await sleeper.process.wait() == 0
            replies = ordinals(await held(transport, "student.replied"))
        repeated = sum(map(len, replies.values())) - EVENTS - KEYS
        assert repeated <= self.repeats_after_a_kill, repeated
        assert {key: list(dict.fromkeys(found)) for key, found in replies.items()} == {
            f"c{key}": list(range(EVENTS // KEYS + 1)) for key in range(KEYS)
        }
