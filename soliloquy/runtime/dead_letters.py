"""Finds and replays dead letters: events that were given up."""

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.port import Delivery, Transport


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


async def replay(transport: Transport, event_ids: Collection[str]) -> int:
    """Publishes dead letters to their original topics under their ids; all of them if no id is given."""
    chosen = [found async for found in letters(transport) if not event_ids or found.event.id in event_ids]
    if missing := set(event_ids) - {found.event.id for found in chosen}:
        raise NoSuchLetter(min(missing))
    if chosen:
        await transport.replay(chosen)
    return len(chosen)
