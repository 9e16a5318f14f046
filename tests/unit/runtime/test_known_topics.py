"""A topic counts as lost once brokers say so, and as made anew only under an id that no topic had before."""

from typing import Any

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.known_topics import KnownTopics
from soliloquy.runtime.transports.kafka.topic_ids import TopicsRequest
from soliloquy.runtime.transports.port import Partition

TOPIC = "student.replied"
OLD, NEW, NONE = b"o" * 16, b"n" * 16, bytes(16)
LEADER_MISSING, UNKNOWN, FORBIDDEN = 5, 3, 29


def answer(topic_id: bytes = NONE, *, error: int = 0, partitions: int = 2) -> list[dict[str, Any]]:
    rows = [{"partition": number} for number in reversed(range(partitions))]
    return [{"error_code": error, "topic": f"x.{TOPIC}", "topic_id": topic_id, "partitions": rows}]


GONE = answer(error=UNKNOWN, partitions=0)


def known(*answers: list[dict[str, Any]]) -> KnownTopics:
    topics = KnownTopics(KafkaSettings(bootstrap="kafka:9092", prefix="x."))
    for each in answers:
        topics.take(each)
    return topics


def test_a_topic_is_lost_when_two_looks_miss_it_and_until_it_is_found() -> None:
    topics = known(answer(OLD), GONE)
    assert (topics.lost, topics.fault) == (set(), "")
    topics.take(GONE)
    assert topics.lost == {TOPIC}
    assert topics.fault == (
        f"kafka:9092: {TOPIC} is missing: run `soliloquy topics apply --kafka kafka:9092 --kafka-prefix x.`"
    )
    topics.take(answer(OLD, partitions=3))
    assert (topics.lost, topics.fault, topics.generations.total()) == (set(), "", 0)
    assert topics.found[TOPIC].partitions == [Partition(TOPIC, number) for number in range(3)]


def test_a_topic_that_never_was_is_not_lost() -> None:
    assert known(GONE, GONE, GONE).lost == set()


def test_a_topic_that_a_broker_made_by_itself_with_fewer_partitions_is_a_fault_until_it_has_them_all() -> None:
    topics = known(answer(OLD, partitions=12), answer(NEW, partitions=1))
    assert topics.fault == (
        f"kafka:9092: {TOPIC} has 1 partitions, not 12: "
        "run `soliloquy topics apply --kafka kafka:9092 --kafka-prefix x. --grow`"
    )
    topics.take(answer(NEW, partitions=12))
    assert topics.fault == ""


@pytest.mark.parametrize("error", [LEADER_MISSING, FORBIDDEN])
def test_an_answer_that_says_nothing_of_a_topic_changes_nothing(error: int) -> None:
    topics = known(answer(OLD), *[answer(error=error, partitions=0)] * 3)
    assert (topics.lost, topics.generations.total(), len(topics.found[TOPIC].partitions)) == (set(), 0, 2)


@pytest.mark.parametrize("missed", [0, 1, 5])
def test_another_id_is_a_topic_made_anew_and_a_broker_that_lags_behind_does_not_count_again(missed: int) -> None:
    topics = known(answer(OLD), *[GONE] * missed, answer(NEW), answer(OLD), answer(NEW), answer(OLD))
    assert topics.generations[TOPIC] == 1
    assert topics.found[TOPIC].id == NEW


def test_brokers_that_learn_of_ids_and_those_that_do_not_know_them_lose_no_topic() -> None:
    without_ids = [{name: value for name, value in row.items() if name != "topic_id"} for row in answer()]
    topics = known(without_ids, answer(), answer(OLD), without_ids, answer(), answer(OLD))
    assert (topics.lost, topics.generations.total(), topics.found[TOPIC].id) == (set(), 0, OLD)
    topics.take(answer(NEW))
    assert topics.generations[TOPIC] == 1


def test_brokers_that_do_not_know_ids_are_asked_as_before() -> None:
    request = TopicsRequest([f"x.{TOPIC}"])
    assert [request.prepare({request.API_KEY: (0, newest)}).API_VERSION for newest in (9, 13)] == [5, 10]
