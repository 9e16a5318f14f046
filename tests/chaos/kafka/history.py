"""Reads from an installation's topics what its runs repeated, and in which order events came."""

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from soliloquy.runtime.events import ConversationEvent, message_of
from soliloquy.runtime.topics import TOPICS
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.transport import KafkaTransport

RUN_TOPICS = ("run.standing", "run.cancelled")
WORK = tuple(topic for topic in TOPICS if topic not in RUN_TOPICS)


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    # Distinct events per topic.
    events: Counter[str] = field(default_factory=Counter)
    # Publications beyond the first, per topic.
    repeats: Counter[str] = field(default_factory=Counter)
    repeated_conversations: set[str] = field(default_factory=set)
    # Conversations with an event that came before one of an earlier turn, per topic.
    disordered: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def summary(self) -> str:
        where = ", ".join(f"{topic} {count}" for topic, count in sorted(self.repeats.items()))
        return (
            f"{self.repeats.total()} of {self.events.total()} events were published again, "
            f"of {len(self.repeated_conversations)} conversations ({where or 'none'})"
        )


def history(settings: KafkaSettings) -> History:
    return asyncio.run(_history(settings))


async def _history(settings: KafkaSettings) -> History:
    found = History()
    async with KafkaTransport(settings) as transport:
        for topic in WORK:
            seen: set[str] = set()
            furthest: dict[str, tuple[int, int]] = {}
            async for delivery in transport.read(topic):
                event = delivery.event
                message = message_of(event)
                if event.id in seen:
                    found.repeats[topic] += 1
                    found.repeated_conversations.add(event.key)
                    continue
                seen.add(event.id)
                found.events[topic] += 1
                if isinstance(message, ConversationEvent):
                    conversation = message.conversation
                    # A rewind takes turns back.
                    reached = (len(conversation.rewinds), len(conversation.turns))
                    if reached < furthest.get(conversation.id, reached):
                        found.disordered[topic].add(conversation.id)
                    furthest[conversation.id] = reached
    return found
