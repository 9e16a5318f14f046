"""Maps our names of topics, partitions and groups to those in the cluster."""

from dataclasses import dataclass

from aiokafka import TopicPartition

from soliloquy.runtime.transports.port import Partition


@dataclass(frozen=True, slots=True)
class Names:
    prefix: str

    def in_kafka(self, partition: Partition) -> TopicPartition:
        return TopicPartition(self.prefix + partition.topic, partition.number)

    def from_kafka(self, topic: str, number: int) -> Partition:
        return Partition(topic.removeprefix(self.prefix), number)

    def is_ours(self, name: str) -> bool:
        return name.startswith(self.prefix)
