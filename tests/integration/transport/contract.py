"""The promises of every transport together with the stage; each adapter's test class inherits them."""

import asyncio
from collections import defaultdict
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from soliloquy.runtime import reading
from soliloquy.runtime.events import MAX_EVENT_BYTES, EventTooLarge, Outcome, UnknownTopic, emit
from soliloquy.runtime.handling import Service
from soliloquy.runtime.retry import CannotServe, Refused, Transient
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.transports.port import Delivery
from soliloquy.v1 import events_pb2, model_pb2
from soliloquy.v1.events_pb2 import ServiceDescribed
from tests.integration.transport.support import (
    QUICK,
    Connect,
    held,
    idle,
    metric,
    ordinals,
    place,
    reply,
    serving,
    started,
    student,
    undecodable,
)
from tests.waiting import until

Started = events_pb2.ConversationStarted


class TransportContract:
    """Needs a fixture `connect`: every call opens the same transport, which is empty at first."""

    async def test_every_event_is_handled_and_its_outcome_published(self, connect: Connect) -> None:
        async with connect() as transport, serving(student(reply), transport):
            events = [started(f"c{number}") for number in range(50)]
            await transport.publish(events)
            await until(lambda: idle(transport))
            replies = await held(transport, "student.replied")
        assert {delivery.event.key for delivery in replies} == {event.key for event in events}
        assert len({delivery.event.id for delivery in replies}) == 50
        assert {delivery.event.source for delivery in replies} == {"student"}

    async def test_an_event_names_the_services_that_touched_its_conversation_and_they_are_described(
        self, connect: Connect
    ) -> None:
        tutor = replace(student(reply), description=ServiceDescribed(service="tutor", settings='{"model": "first"}'))
        changed = replace(tutor, description=ServiceDescribed(service="tutor", settings='{"model": "second"}'))
        earlier = "0123456789ab"
        async with connect() as transport:
            for number, service in enumerate((tutor, changed, tutor)):
                await transport.publish([replace(started(f"c{number}"), lineage=earlier)])
                async with serving(service, transport):
                    await until(lambda: idle(transport))
            replies = await held(transport, "student.replied")
            known = await reading.descriptions(transport)
        assert {one.event.key: one.event.lineage for one in replies} == {
            "c0": f"{earlier} {tutor.digest}",
            "c1": f"{earlier} {changed.digest}",
            "c2": f"{earlier} {tutor.digest}",
        }
        # The one that started last comes last.
        assert [*known] == [changed.digest, tutor.digest]
        assert known[changed.digest] == changed.description

    async def test_a_log_keeps_its_name(self, connect: Connect) -> None:
        async with connect() as transport, connect() as again:
            assert transport.installation == again.installation != ""

    async def test_what_is_read_or_followed_begins_at_the_offsets_asked_for(self, connect: Connect) -> None:
        async with connect() as transport:
            await transport.publish([started(f"c{number}") for number in range(20)])
            before = await transport.ends("conversation.started")
            await transport.publish([started(f"later{number}") for number in range(20)])
            read = [delivery async for delivery in transport.read("conversation.started", None, before)]
            followed: list[Delivery] = []
            async with aclosing(transport.follow("conversation.started", before)) as deliveries:
                async for delivery in deliveries:
                    followed.append(delivery)
                    if len(followed) == 20:
                        break
        wanted = {f"later{number}" for number in range(20)}
        assert {delivery.event.key for delivery in read} == {delivery.event.key for delivery in followed} == wanted

    async def test_ends_are_behind_what_is_published_and_before_what_follows(self, connect: Connect) -> None:
        async with connect() as transport:
            assert set((await transport.ends("conversation.started")).values()) == {0}
            await transport.publish([started(f"c{number}") for number in range(20)])
            ends = await transport.ends("conversation.started")
            events = await held(transport, "conversation.started")
            last = {event.partition.number: event.offset for event in events}
            assert {number: end - 1 for number, end in ends.items() if end} == last
            assert not [event async for event in transport.read("conversation.started", None, ends)]

    async def test_each_group_reads_every_event(self, connect: Connect) -> None:
        seen: defaultdict[str, set[str]] = defaultdict(set)

        def service(name: str) -> Service:
            async def see(message: Started) -> Outcome:
                seen[name].add(message.conversation.id)
                return emit()

            return Service(name=name, handlers={Started: see}, retry=QUICK)

        keys = {f"c{number}" for number in range(20)}
        async with (
            connect() as transport,
            serving(service("student"), transport),
            serving(service("auditor"), transport),
        ):
            await transport.publish([started(key) for key in keys])
            await until(lambda: seen == {"student": keys, "auditor": keys})

    async def test_events_of_a_key_run_one_after_the_other(self, connect: Connect) -> None:
        order: defaultdict[str, list[int]] = defaultdict(list)
        running: set[str] = set()
        overlaps: list[str] = []

        async def work(message: Started) -> Outcome:
            key, ordinal = place(message)
            if key in running:
                overlaps.append(key)
            running.add(key)
            await asyncio.sleep(0.001 * (ordinal % 3))
            running.discard(key)
            order[key].append(ordinal)
            return emit()

        async with connect() as transport, serving(student(work), transport):
            await transport.publish([started(f"c{number % 7}", number) for number in range(140)])
            await until(lambda: idle(transport))
        assert not overlaps
        assert order == {f"c{key}": list(range(key, 140, 7)) for key in range(7)}

    async def test_a_full_stage_fetches_a_bounded_number_and_goes_on_when_it_can(self, connect: Connect) -> None:
        admitted = asyncio.Event()

        async def work(_message: Started) -> Outcome:
            await admitted.wait()
            return emit()

        before = metric("soliloquy_events_received_total")
        auditor = Service(name="auditor", handlers={Started: reply})
        async with connect() as transport, serving(student(work, max_in_flight=4), transport):
            await transport.publish([started(f"c{number}") for number in range(1000)])
            # By the time another group has read all events, the full group could have too.
            async with serving(auditor, transport):
                await until(lambda: idle(transport, "auditor"))
            # On a busy machine the full group may join last.
            await until(lambda: metric("soliloquy_events_received_total") - before >= 4)
            assert metric("soliloquy_events_received_total") - before <= 16
            admitted.set()
            await until(lambda: idle(transport))
        assert metric("soliloquy_events_received_total") - before == 1000

    async def test_a_long_lane_holds_up_no_other_partition(self, connect: Connect) -> None:
        admitted = asyncio.Event()
        done: set[str] = set()

        async def work(message: Started) -> Outcome:
            if message.conversation.id == "slow":
                await admitted.wait()
            done.add(message.conversation.id)
            return emit()

        async with connect() as transport, serving(student(work, max_in_flight=4), transport):
            await transport.publish([started("slow", number) for number in range(200)])
            await transport.publish([started(f"c{number}") for number in range(64)])
            await until(lambda: len(done) >= 32)
            assert "slow" not in done
            admitted.set()
            await until(lambda: idle(transport))
        assert len(done) == 65

    async def test_a_fault_that_lasts_ends_in_the_dead_letters_with_its_reason(self, connect: Connect) -> None:
        tries = 0

        async def work(_message: Started) -> Outcome:
            nonlocal tries
            tries += 1
            raise ValueError("no such formula")

        event = started("c")
        async with connect() as transport, serving(student(work), transport):
            await transport.publish([event])
            await until(lambda: idle(transport))
            assert await transport.dead_letters() == {"conversation.started.dlq": 1}
            letter = await reading.letter(transport, event.id)
        assert tries == QUICK.attempts
        assert letter.event.attempt == QUICK.attempts
        assert letter.event.error == "ValueError: no such formula"
        assert letter.event.payload == event.payload

    async def test_a_publisher_is_told_what_no_topic_takes(self, connect: Connect) -> None:
        async with connect() as transport:
            with pytest.raises(UnknownTopic, match="no\\.such\\.topic"):
                await transport.publish([started("c"), replace(started("c"), topic="no.such.topic")])
            with pytest.raises(EventTooLarge, match="above the limit"):
                await transport.publish([started("c"), replace(started("c"), payload=bytes(MAX_EVENT_BYTES + 1))])
            assert not await held(transport, "conversation.started")


class StageContract:
    """The promises of the stage alone, for which one transport suffices. Needs the same fixture."""

    async def test_no_more_run_at_once_than_allowed(self, connect: Connect) -> None:
        running, most = 0, 0

        async def work(_message: Started) -> Outcome:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.002)
            running -= 1
            return emit()

        async with connect() as transport, serving(student(work, max_in_flight=4), transport):
            await transport.publish([started(f"c{number}") for number in range(100)])
            await until(lambda: idle(transport))
        assert most == 4

    async def test_a_stop_lets_what_runs_finish(self, connect: Connect) -> None:
        begun, may_finish = asyncio.Event(), asyncio.Event()

        async def work(message: Started) -> Outcome:
            begun.set()
            await may_finish.wait()
            return await reply(message)

        async with connect() as transport:
            async with serving(student(work), transport) as stage:
                await transport.publish([started("c", 0), started("c", 1)])
                await begun.wait()
                stage.stop(5.0)
                may_finish.set()
            assert ordinals(await held(transport, "student.replied")) == {"c": [0]}
            async with serving(student(work), transport):
                await until(lambda: idle(transport))
            assert ordinals(await held(transport, "student.replied")) == {"c": [0, 1]}

    async def test_what_outlasts_the_grace_of_a_stop_is_left_to_the_next(self, connect: Connect) -> None:
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def stuck(_message: Started) -> Outcome:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return emit()

        async with connect() as transport:
            async with serving(student(stuck), transport, grace=0.05):
                await transport.publish([started("c")])
                await begun.wait()
            assert cancelled.is_set()
            assert not await held(transport, "student.replied")
            async with serving(student(reply), transport):
                await until(lambda: idle(transport))
            assert len(await held(transport, "student.replied")) == 1

    async def test_a_short_fault_is_tried_again_in_place(self, connect: Connect) -> None:
        tries: list[int] = []

        async def work(message: Started) -> Outcome:
            tries.append(message.conversation.ordinal)
            if len(tries) < 3:
                raise Transient("busy")
            return await reply(message)

        async with connect() as transport, serving(student(work), transport):
            await transport.publish([started("c", 7)])
            await until(lambda: idle(transport))
            (delivery,) = await held(transport, "student.replied")
        assert tries == [7, 7, 7]
        assert delivery.event.key == "c"

    async def test_what_can_never_work_is_given_up_at_once_and_blocks_nothing(self, connect: Connect) -> None:
        async def work(message: Started) -> Outcome:
            match message.conversation.id:
                case "refused":
                    raise Refused("the schema is not one")
                case "large":
                    large = events_pb2.StudentReplied(conversation=message.conversation)
                    large.conversation.problem.question = "x" * MAX_EVENT_BYTES
                    return emit(large)
                case "nowhere":
                    return emit(unheard_of)
            return await reply(message)

        unheard_of: Any = model_pb2.Completion()
        keys = ["refused", "large", "nowhere", "garbled"]
        async with connect() as transport, serving(student(work, max_in_flight=1), transport):
            await transport.publish([undecodable(key) if key == "garbled" else started(key) for key in keys])
            await transport.publish([started(key, 1) for key in ["garbled", "fine"]])
            await until(lambda: idle(transport))
            letters = {letter.event.key: letter.event async for letter in reading.letters(transport)}
            replies = ordinals(await held(transport, "student.replied"))
        assert replies == {"garbled": [1], "fine": [1]}
        assert {key: letter.attempt for key, letter in letters.items()} == dict.fromkeys(keys, 1)
        assert "the schema is not one" in letters["refused"].error
        assert f"above the limit of {MAX_EVENT_BYTES}" in letters["large"].error
        assert "no topic carries Completion" in letters["nowhere"].error
        assert "no valid message" in letters["garbled"].error

    async def test_a_service_that_can_serve_nobody_stops_and_its_events_stay(self, connect: Connect) -> None:
        async def locked_out(_message: Started) -> Outcome:
            raise CannotServe("the key is wrong")

        async with connect() as transport:
            await transport.publish([started("c", ordinal) for ordinal in range(3)])
            with pytest.raises(CannotServe, match="the key is wrong"):
                await Stage(student(locked_out), transport).run()
            assert await transport.dead_letters() == {}
            async with serving(student(reply), transport):
                await until(lambda: idle(transport))
            assert ordinals(await held(transport, "student.replied")) == {"c": [0, 1, 2]}
