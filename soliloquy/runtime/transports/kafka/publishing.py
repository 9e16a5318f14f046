"""Publishes a batch of events, each under its own key and headers."""

import asyncio
from typing import TYPE_CHECKING

from faststream.kafka.publisher.producer import AioKafkaFastProducerImpl

from soliloquy.runtime.transports.kafka.records import headers_of

if TYPE_CHECKING:
    from faststream.kafka.response import KafkaPublishCommand


class Unpublished(Exception):
    """Some events of a batch are not known to be durable; says of each, in their order, what came of it."""

    def __init__(self, answers: list[object]) -> None:
        super().__init__(next(str(answer) for answer in answers if isinstance(answer, BaseException)))
        self.answers = answers


class EventProducer(AioKafkaFastProducerImpl):
    """FastStream gives all messages of a batch the same headers, and a single one costs it as much as all else does.

    Its middlewares go round the batch; within, aiokafka sees to how many requests it takes.
    """

    async def publish_batch(self, cmd: "KafkaPublishCommand") -> None:  # type: ignore[override]
        producer = self._producer.producer
        sent: list[asyncio.Future[object] | BaseException] = []
        for event in cmd.batch_bodies:
            try:
                future = await producer.send(
                    cmd.destination, event.payload, key=event.key.encode(), headers=headers_of(event)
                )
            except Exception as error:
                sent.append(error)
            else:
                sent.append(future)
        await asyncio.gather(*[one for one in sent if isinstance(one, asyncio.Future)], return_exceptions=True)
        answers = [one.exception() if isinstance(one, asyncio.Future) else one for one in sent]
        if any(answers):
            raise Unpublished(list(answers))
