"""Records, our own and foreign ones, and positions with the offsets finished beyond them."""

from dataclasses import replace
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from hypothesis import given
from hypothesis import strategies as some

from soliloquy.runtime.events import MAX_EVENT_BYTES, Event, Undecodable, first_event, message_of
from soliloquy.runtime.retry import MAX_ERROR_CHARACTERS, dead
from soliloquy.runtime.topics import DLQ, RETRY, TOPICS, shapes
from soliloquy.runtime.transports.kafka.positions import MAX_CHARACTERS, decoded, encoded
from soliloquy.runtime.transports.kafka.records import delivery_of, headers_of
from soliloquy.runtime.transports.port import Partition
from soliloquy.v1.events_pb2 import ConversationStarted

PLACE = Partition("conversation.started", 3)


def event() -> Event:
    message = ConversationStarted()
    message.conversation.id = "c1"
    return first_event(message, source="student", time=1_790_000_000.123456)


def record(event: Event, **changes: Any) -> Any:
    found = ConsumerRecord(
        topic=event.topic,
        partition=3,
        offset=41,
        timestamp=1_790_000_000_000,
        timestamp_type=0,
        key=event.key.encode(),
        value=event.payload,
        checksum=None,
        serialized_key_size=0,
        serialized_value_size=0,
        headers=headers_of(event),
    )
    return replace(found, **changes)


def test_an_event_comes_back_as_it_went() -> None:
    sent = event()
    assert sent.traceparent.startswith("00-")
    assert sent.began == {"conversation": sent.time}
    assert delivery_of(record(sent), PLACE).event == sent
    parked = replace(sent, topic="conversation.started.retry", attempt=2, not_before=1.5, error="ValueError: Ω\nno")
    assert delivery_of(record(parked), Partition("conversation.started.retry", 3)).event == parked
    assert delivery_of(record(replace(sent, replayed=True)), PLACE).event.replayed


def test_a_lineage_comes_back_without_what_is_none_and_an_event_may_lack_it() -> None:
    sent = replace(event(), lineage="0123456789ab ba9876543210")
    assert delivery_of(record(sent), PLACE).event == sent
    others = [header for header in headers_of(event()) if header[0] != "soliloquy_lineage"]
    assert delivery_of(record(sent, headers=others), PLACE).event.lineage == ""
    for written, lineage in [
        (b"0123456789ab \xff\xfe <script>", "0123456789ab"),
        (b"0123456789ab " + b"x" * 500_000, "0123456789ab"),
        (b"", ""),
    ]:
        found = delivery_of(record(sent, headers=[*others, ("soliloquy_lineage", written)]), PLACE).event
        assert (found.flaw, found.lineage) == ("", lineage)


def test_the_headers_are_cloud_events_in_binary_mode() -> None:
    headers = dict(headers_of(event()))
    assert headers["ce_specversion"] == b"1.0"
    assert headers["ce_type"] == b"soliloquy.v1.ConversationStarted"
    assert headers["ce_time"] == b"2026-09-21T14:13:20.123456+00:00"
    assert headers["content-type"] == b"application/protobuf"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"headers": []}, "it carries no ce_type"),
        (
            {"headers": [("ce_type", b"soliloquy.v2.ConversationStarted")]},
            "carries soliloquy.v2.ConversationStarted, this",
        ),
        ({"headers": [("ce_type", b"\xff")]}, "its headers are no text"),
        ({"headers": [("ce_type", None)]}, "it carries no ce_type"),
        ({"headers": [("ce_type", b"soliloquy.v1.ConversationStarted")]}, "its headers are not those of an event"),
        ({"key": None}, "it has no key"),
        ({"value": None}, "it has no payload"),
        ({"value": bytes(MAX_EVENT_BYTES + 1)}, "above the limit of 262144: it stays at offset 41 of partition 3"),
    ],
)
def test_what_is_no_event_of_ours_says_why_and_can_be_given_up(changes: dict[str, Any], said: str) -> None:
    found = delivery_of(record(event(), **changes), PLACE).event
    with pytest.raises(Undecodable, match=said) as error:
        message_of(found)
    letter = dead(found, error.value)
    again = delivery_of(record(letter), Partition("conversation.started.dlq", 0)).event
    assert (again.id, again.error) == (found.id, letter.error)


def test_an_event_of_a_later_schema_stays_one_among_the_dead_letters() -> None:
    found = delivery_of(record(event(), headers=[("ce_type", b"soliloquy.v2.ConversationStarted")]), PLACE).event
    again = delivery_of(record(replace(found, topic="conversation.started.dlq")), PLACE).event
    assert again.type == "soliloquy.v2.ConversationStarted"
    with pytest.raises(Undecodable, match=r"carries soliloquy\.v2\."):
        message_of(again)


@given(
    some.binary(), some.lists(some.tuples(some.sampled_from(["ce_type", "ce_id", "x"]), some.binary() | some.none()))
)
def test_no_record_whatever_breaks_the_reader(value: bytes, headers: list[tuple[str, bytes | None]]) -> None:
    found = delivery_of(record(event(), value=value, headers=headers), PLACE).event
    assert found.flaw


@given(some.integers(0, 2**60), some.sets(some.integers(0, 3000)))
def test_a_position_keeps_what_is_finished_ahead_of_it(position: int, distances: set[int]) -> None:
    ahead = {position + distance for distance in distances}
    text = encoded(position, ahead)
    assert len(text) <= MAX_CHARACTERS
    assert decoded(position, text) == ahead


def test_of_more_than_fits_a_position_keeps_the_lowest() -> None:
    # Nothing that could be made shorter: a bit in every second place or so, as a hash has it.
    ahead = {offset for offset in range(200_000) if hash(("x", offset)) % 3 == 0}
    text = encoded(0, ahead)
    assert len(text) <= MAX_CHARACTERS
    kept = decoded(0, text)
    assert kept
    highest = max(kept)
    assert kept == {offset for offset in ahead if offset <= highest}


@pytest.mark.parametrize("metadata", ["", "written by another program", "ahead:", "ahead:~~~~", "ahead:0000"])
def test_metadata_of_others_says_nothing(metadata: str) -> None:
    assert decoded(5, metadata) == set()


DEEP = b"[" * 7_000
HOSTILE_HEADERS = {
    "ce_id": [b"", b"x" * 9_000],
    "ce_source": [b"x" * 9_000],
    "ce_time": [b"", b"0001-01-01", b"0001-01-01T00:00:00+23:59", b"9999-12-31T23:59:59-23:59", b"1e9", b"x" * 9_000],
    "soliloquy_began": [
        *(b"", b"[]", b"1", b"null", b'{"turn": "x"}', b'{"turn": null}', b'{"turn": {}}', b'{"turn": NaN}'),
        *(b'{"turn": -1}', b'{"turn": 1e999}', b'{"turn": 1' + b"0" * 5_000 + b"}", DEEP, b'{"a":' * 1_400),
    ],
    "soliloquy_attempt": [b"-1", b"", b"1.5", b"9" * 5_000, b"1_000", "٣".encode(), b"nan"],
    "soliloquy_not_before": [b"nan", b"inf", b"-inf", b"", b"x", b"1e300", b"-1"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, few in HOSTILE_HEADERS.items() for value in few])
@pytest.mark.parametrize("kind", [b"soliloquy.v1.ConversationStarted", b"other"])
def test_a_hostile_header_makes_a_record_that_can_be_given_up_and_read_again(
    name: str, value: bytes, kind: bytes
) -> None:
    headers = {**dict(headers_of(event())), "ce_type": kind, name: value}
    found = delivery_of(record(event(), headers=list(headers.items())), PLACE).event
    assert found.flaw or (name, value) == ("ce_id", b"")
    again = headers_of(dead(found, Undecodable(found.flaw)))
    assert sum(len(text) for _, text in again) < 64 * 1024
    assert delivery_of(record(event(), headers=again), Partition("conversation.started.dlq", 3)).event.id == found.id


@pytest.mark.parametrize("milliseconds", [-1, -(2**63), 2**63 - 1])
def test_a_foreign_records_timestamp_may_be_anything(milliseconds: int) -> None:
    found = delivery_of(record(event(), headers=[], timestamp=milliseconds, key=b"x" * 10**6), PLACE).event
    assert found.time == 0.0
    assert sum(len(text) for _, text in headers_of(dead(found, Undecodable(found.flaw)))) < 64 * 1024


SHAPES = {shape.topic: shape for shape in shapes()}
HANDLED = [topic.name for topic in TOPICS.values() if topic.is_handled]
# An error may take four bytes a character; the other headers are ids, names and times.
HEADER_BYTES = 4 * MAX_ERROR_CHARACTERS + 2048


def test_every_topic_has_a_shape_and_handled_ones_have_retry_and_dead_letters() -> None:
    beside = {topic + suffix for topic in HANDLED for suffix in (RETRY, DLQ)}
    assert SHAPES.keys() == TOPICS.keys() | beside


def test_every_topic_takes_the_largest_event_with_its_headers() -> None:
    assert all(int(shape.configs["max.message.bytes"]) > MAX_EVENT_BYTES + HEADER_BYTES for shape in SHAPES.values())


def test_dead_letters_outlast_the_events_of_their_topic_or_stay_as_long() -> None:
    for topic in HANDLED:
        kept = int(SHAPES[topic].configs["retention.ms"])
        assert int(SHAPES[topic + DLQ].configs["retention.ms"]) >= kept, topic


def test_only_what_is_read_as_a_table_is_compacted() -> None:
    compacted = {name for name, shape in SHAPES.items() if shape.configs["cleanup.policy"].startswith("compact")}
    assert compacted == {topic.name for topic in TOPICS.values() if topic.keep == "latest"}


def test_with_fewer_copies_fewer_must_be_written() -> None:
    def written(replication: int | None) -> set[tuple[int, str]]:
        return {(shape.replication, shape.configs["min.insync.replicas"]) for shape in shapes(replication)}

    assert written(None) == {(3, "2")}
    assert written(1) == {(1, "1")}
    assert written(5) == {(5, "2")}
