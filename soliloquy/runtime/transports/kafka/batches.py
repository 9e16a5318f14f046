"""What FastStream makes of a batch of records: nothing, for a record becomes an event in `records.py`."""

from collections.abc import Sequence

from faststream.kafka import KafkaMessage
from faststream.kafka.message import FAKE_CONSUMER

from soliloquy.runtime.transports.kafka.records import Record


async def unparsed(records: Sequence[Record]) -> KafkaMessage:
    """FastStream's own parser fails on a header that is no text, and then nobody would hear of the batch."""
    return KafkaMessage(
        raw_message=tuple(records),
        body=[record.value or b"" for record in records],
        consumer=FAKE_CONSUMER,
    )


async def undecoded(_: object) -> None:
    """Whatever is in it."""
