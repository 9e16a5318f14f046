"""Reads messages without handling them: tables, notices, results and dead letters."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing

from google.protobuf.message import Message

from soliloquy.runtime import contract, metrics
from soliloquy.runtime.events import Undecodable, message_of, run_key
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.places import Places
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Delivery, Transport
from soliloquy.v1.events_pb2 import RunStanding, ServiceDescribed
from soliloquy.v1.runs_pb2 import Run

# Characters of an error in the log.
_LONGEST = 300

_log = logging.getLogger(__name__)


async def messages(deliveries: AsyncIterator[Delivery]) -> AsyncGenerator[tuple[Delivery, Message], None]:
    """Decodes deliveries. Skips, logs and counts those that no service can use: no stage is here to bury them."""
    async for delivery in deliveries:
        try:
            message = message_of(delivery.event)
            contract.check(message)
        except (Undecodable, contract.Misfit) as error:
            fields = {"topic": delivery.partition.topic, "event": delivery.event.id, "error": str(error)[:_LONGEST]}
            _log.warning("an event is left out: no service can use it", extra={"fields": fields})
            metrics.PASSED_OVER.labels(delivery.partition.topic).inc()
        else:
            yield delivery, message


async def open_ordinals(transport: Transport, run: Run) -> set[int]:
    """Returns the ordinals of a run's problems whose conversations are in progress."""
    places = Places()
    async for _, standing in messages(transport.read(TOPIC_OF[RunStanding].name)):
        assert isinstance(standing, RunStanding)
        if run_key(standing.run) == run_key(run):
            places.tell(standing)
    return set(places.ordinals.values())


async def descriptions(transport: Transport) -> dict[str, ServiceDescribed]:
    """Returns every service that was ever described, by its digest; the latest that started comes last."""
    found: dict[str, tuple[float, ServiceDescribed]] = {}
    async for delivery, described in messages(transport.read(TOPIC_OF[ServiceDescribed].name)):
        assert isinstance(described, ServiceDescribed)
        found[delivery.event.key] = delivery.event.time, described
    return {digest: described for digest, (_, described) in sorted(found.items(), key=lambda one: one[1][0])}


class NoSuchLetter(Failure):
    """No dead letter has this id."""

    def __init__(self, event_id: str) -> None:
        super().__init__(f"no dead letter has the id {event_id!r}: `soliloquy dlq list` shows those there are")
        self.event_id = event_id


async def letters(transport: Transport) -> AsyncGenerator[Delivery, None]:
    """Yields every dead letter, topic by topic, oldest first."""
    for topic in await transport.dead_letters():
        async with aclosing(transport.read(topic)) as found:
            async for letter in found:
                yield letter


async def letter(transport: Transport, event_id: str) -> Delivery:
    async with aclosing(letters(transport)) as every:
        async for found in every:
            if found.event.id == event_id:
                return found
    raise NoSuchLetter(event_id)


async def discard(transport: Transport, event_ids: Collection[str]) -> None:
    """Removes the dead letters of these ids, as far as they are there."""
    if chosen := [found async for found in letters(transport) if found.event.id in event_ids]:
        await transport.discard(chosen)


async def replay(transport: Transport, event_ids: Collection[str]) -> int:
    """Publishes dead letters to their original topics under their ids; all of them if no id is given."""
    chosen = [found async for found in letters(transport) if not event_ids or found.event.id in event_ids]
    if missing := set(event_ids) - {found.event.id for found in chosen}:
        raise NoSuchLetter(min(missing))
    if chosen:
        await transport.replay(chosen)
    return len(chosen)
