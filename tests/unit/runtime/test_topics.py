"""The desired state of each topic in Kafka."""

from soliloquy.runtime.events import MAX_EVENT_BYTES
from soliloquy.runtime.retry import MAX_ERROR_CHARACTERS
from soliloquy.runtime.topics import DLQ, RETRY, TOPICS, shapes

SHAPES = {shape.topic: shape for shape in shapes()}
HANDLED = [topic.name for topic in TOPICS.values() if topic.keep != "latest"]
# An error may take four bytes a character; the other headers are ids, names and times.
HEADER_BYTES = 4 * MAX_ERROR_CHARACTERS + 2048


def test_every_topic_has_a_shape_and_handled_ones_have_retry_and_dead_letters() -> None:
    beside = {topic + suffix for topic in HANDLED for suffix in (RETRY, DLQ)}
    assert SHAPES.keys() == TOPICS.keys() | beside


def test_a_retry_topic_has_as_many_partitions_as_its_origin() -> None:
    assert {topic: SHAPES[topic + RETRY].partitions for topic in HANDLED} == {
        topic: SHAPES[topic].partitions for topic in HANDLED
    }


def test_topics_keyed_by_run_have_equally_many_partitions() -> None:
    assert len({SHAPES[topic.name].partitions for topic in TOPICS.values() if topic.key == "run"}) == 1


def test_every_topic_takes_the_largest_event_with_its_headers() -> None:
    assert all(int(shape.configs["max.message.bytes"]) > MAX_EVENT_BYTES + HEADER_BYTES for shape in SHAPES.values())


def test_dead_letters_outlast_the_events_of_their_topic_or_stay_as_long() -> None:
    for topic in HANDLED:
        kept = int(SHAPES[topic].configs["retention.ms"])
        assert int(SHAPES[topic + DLQ].configs["retention.ms"]) >= kept, topic


def test_only_what_is_read_as_a_table_is_compacted() -> None:
    compacted = {name for name, shape in SHAPES.items() if shape.configs["cleanup.policy"] == "compact"}
    assert compacted == {topic.name for topic in TOPICS.values() if topic.keep == "latest"}


def test_a_topic_says_in_what_it_differs() -> None:
    finished, started = SHAPES["conversation.finished"].configs, SHAPES["conversation.started"].configs
    assert {name for name in finished if finished[name] != started[name]} == {"retention.ms"}
    assert SHAPES["conversation.finished" + RETRY].configs == finished


def test_with_fewer_copies_fewer_must_be_written() -> None:
    def written(replication: int | None) -> set[tuple[int, str]]:
        return {(shape.replication, shape.configs["min.insync.replicas"]) for shape in shapes(replication)}

    assert written(None) == {(3, "2")}
    assert written(1) == {(1, "1")}
    assert written(5) == {(5, "2")}
