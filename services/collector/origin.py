"""Where the event that is being handled was read."""

from soliloquy.runtime.handling import READ_FROM
from soliloquy.v1.dataset_pb2 import Origin


def read_from() -> Origin | None:
    if (delivery := READ_FROM.get()) is None:
        return None
    return Origin(topic=delivery.partition.topic, partition=delivery.partition.number, offset=delivery.offset)
