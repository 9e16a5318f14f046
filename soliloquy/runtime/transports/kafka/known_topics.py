"""Knows topics by their ids, and notices those that are lost: deleted, or deleted and made anew."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from aiokafka.errors import UnknownTopicOrPartitionError

from soliloquy.runtime.metrics import counter
from soliloquy.runtime.topics import origin
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.connection import missing, some
from soliloquy.runtime.transports.port import Partition

TOPICS_LOST = counter("soliloquy_topics_lost_total")
# A broker that has just started may not know a topic yet.
LOOKS_UNTIL_LOST = 2

_log = logging.getLogger(__name__)


class FoundTopic(NamedTuple):
    # Empty from a broker without ids, which Kafka has had since 2.8.
    id: bytes
    partitions: Sequence[Partition]


class KnownTopics:
    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        # All topics that were ever found, also those that are lost by now.
        self.found: dict[str, FoundTopic] = {}
        self._former_ids: set[bytes] = set()
        self._missed: Counter[str] = Counter()
        # The most partitions that each had: a broker may make a missing topic by itself, with fewer.
        self._most: Counter[str] = Counter()
        # How often each was made anew.
        self.generations: Counter[str] = Counter()

    @property
    def lost(self) -> set[str]:
        """The topics that were there and are not."""
        return {topic for topic, looks in self._missed.items() if looks >= LOOKS_UNTIL_LOST}

    @property
    def fault(self) -> str:
        counts = {topic: len(self.found[topic].partitions) for topic in self.found.keys() - self.lost}
        fewer = [
            f"{topic} has {count} partitions, not {self._most[topic]}"
            for topic, count in sorted(counts.items())
            if count < self._most[topic]
        ]
        faults = [missing(_sorted(self.lost), self._settings)] if self.lost else []
        if fewer:
            faults.append(f"{some(fewer)}: run `soliloquy topics apply {self._settings.options} --grow`")
        return f"{self._settings.bootstrap}: {'; '.join(faults)}" if faults else ""

    def take(self, answers: Sequence[Any]) -> None:
        """Takes what a broker answered about topics."""
        lost_before = self.lost
        remade: set[str] = set()
        for answer in answers:
            topic = answer["topic"].removeprefix(self._settings.prefix)
            if answer["error_code"] == UnknownTopicOrPartitionError.errno:
                self._missed[topic] += topic in self.found
            elif not answer["error_code"]:
                numbers = sorted(each["partition"] for each in answer["partitions"])
                topic_id = answer.get("topic_id", b"").lstrip(b"\0")
                found = FoundTopic(topic_id, [Partition(topic, number) for number in numbers])
                if self._find(topic, found):
                    remade.add(topic)
        if gone := self.lost - lost_before:
            _log.error("topics are gone with their events: %s", missing(_sorted(gone), self._settings))
        if remade:
            self.generations.update(remade)
            _log.warning(
                "deleted topics were made anew, and are read from their beginnings: %s. "
                "Cancel and restart the runs whose conversations do not go on",
                some(_sorted(remade)),
            )
        for topic in gone | (remade - lost_before):
            TOPICS_LOST.labels(topic).inc()

    def _find(self, topic: str, found: FoundTopic) -> bool:
        """Returns whether the topic was made anew."""
        if found.id in self._former_ids:
            # This broker has not heard yet that the topic was deleted.
            return False
        del self._missed[topic]
        self._most[topic] = max(self._most[topic], len(found.partitions))
        before = self.found.get(topic, found)
        self.found[topic] = found if found.id else found._replace(id=before.id)
        if before.id in (b"", self.found[topic].id):
            return False
        self._former_ids.add(before.id)
        return True


def _sorted(topics: Iterable[str]) -> list[str]:
    """Puts the topics that services handle first."""
    return sorted(topics, key=lambda topic: (topic != origin(topic), topic))
