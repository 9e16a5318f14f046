"""Checks that measured times are stored apart from what the run determines."""

import io
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from google.protobuf.message import Message

from soliloquy.dataset.rows import messages
from soliloquy.dataset.timings import timed, timings, timings_by_id, without_timings
from soliloquy.recipes.calls import calls_of
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.sandbox_pb2 import Lane
from tests.datasets import accepted_rows
from tests.unit.recipes.conversations import enriched_conversation

# The way from a message to a part of it: names of fields, and places in lists.
Place = tuple[tuple[str, int | None], ...]


def grown(seconds: float) -> Conversation:
    """As one machine or another would."""
    conversation = enriched_conversation()
    conversation.run.growing, conversation.run.in_flight = f"g{seconds}", int(seconds)
    conversation.problem.enrichment.calls.add(role="planner", seconds=seconds)
    for turn in conversation.turns:
        turn.calls.add(role="tutor", seconds=seconds)
        for attempt in turn.calculation.attempts:
            attempt.execution.seconds, attempt.execution.waited_seconds = seconds, 2 * seconds
            attempt.execution.runsc_version = f"v{seconds}"
            attempt.execution.lane = Lane.LANE_FAST if seconds < 2 else Lane.LANE_SINGLE_USE
    conversation.rewinds.add().turns.add(number=2).calls.add(role="codegen", seconds=seconds)
    tried = conversation.turns[-1].rejected.add().calculation.attempts.add()
    tried.execution.seconds, tried.execution.runsc_version = seconds, f"v{seconds}"
    return conversation


def test_the_same_run_is_the_same_on_any_machine() -> None:
    one, other = (without_timings(accepted_rows([grown(seconds)])) for seconds in (1.0, 3.0))
    assert messages(one) == messages(other)


def test_every_time_is_kept_with_its_turn() -> None:
    before = grown(1.5)
    other = enriched_conversation()
    without, told = timings([other, before], [10.0, 20.0]).to_pylist()
    assert (without["id"], without["collected_at"], without["calls"]) == (other.id, 10.0, [])
    assert (told["id"], told["collected_at"]) == (before.id, 20.0)
    assert [(call["turn"], call["role"], call["seconds"]) for call in told["calls"]] == [
        (0, "planner", 1.5),
        *((turn.number, "tutor", 1.5) for turn in before.turns),
        (2, "codegen", 1.5),
    ]
    assert [(one["turn"], one["attempt"], one["seconds"], one["waited_seconds"]) for one in told["executions"]] == [
        (2, 1, 1.5, 3.0),
        (3, 1, 1.5, 3.0),
    ]
    assert {(one["runsc_version"], one["lane"]) for one in told["executions"]} == {("v1.5", "LANE_FAST")}


def parts(message: Message, place: Place = ()) -> Iterator[Place]:
    """Yields the place of each part of a message that is a message itself."""
    for field, value in message.ListFields():
        if field.message_type is None or isinstance(value, Mapping):
            continue
        for number, part in enumerate(value) if field.is_repeated else [(None, value)]:
            yield (*place, (field.name, number))
            yield from parts(part, (*place, (field.name, number)))


def without(whole: Conversation, place: Place) -> Conversation:
    left = Conversation.FromString(whole.SerializeToString())
    holder: Any = left
    for name, number in place[:-1]:
        holder = getattr(holder, name) if number is None else getattr(holder, name)[number]
    name, number = place[-1]
    if number is None:
        holder.ClearField(name)
    else:
        del getattr(holder, name)[number]
    return left


def test_no_missing_part_of_a_forged_conversation_keeps_a_shard_from_being_written() -> None:
    conversation = grown(1.5)
    places = list(parts(conversation))
    assert len(places) > 20
    for one in (without(conversation, place) for place in places):
        batch = accepted_rows([one])
        told = timings([one], [1.0])
        for rows in (without_timings(batch), told):
            pq.write_table(pa.Table.from_batches([rows]), io.BytesIO())
        [times] = timings_by_id([told]).values()
        [cleared] = messages(without_timings(batch))
        assert timed(Conversation.FromString(cleared), times).id == one.id


def test_what_was_cleared_can_be_put_back() -> None:
    conversation = enriched_conversation()
    conversation.run.in_flight = 0
    for turn in conversation.turns:
        for attempt in turn.calculation.attempts:
            attempt.execution.lane, attempt.execution.seconds = Lane.LANE_FORK, 0.5
    batch = accepted_rows([conversation])
    [times] = timings_by_id([timings([conversation], [1.0])]).values()
    [cleared] = messages(without_timings(batch))
    assert timed(Conversation.FromString(cleared), times) == conversation


def test_the_times_of_turns_that_were_taken_back_can_be_put_back_too() -> None:
    conversations = [Conversation(), grown(2.0)]
    batch = accepted_rows(conversations)
    times = timings_by_id([timings(conversations, [1.0, 2.0])])
    [_, cleared] = map(Conversation.FromString, messages(without_timings(batch)))
    [taken_back] = cleared.rewinds[0].turns[0].calls
    assert taken_back.seconds == 0
    timed(cleared, times[cleared.id])
    assert [call.seconds for call in calls_of(cleared)] == [2.0] * len(list(calls_of(grown(2.0))))
