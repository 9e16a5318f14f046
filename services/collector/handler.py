"""Judges finished conversations and stores them."""

from typing import Protocol

from services.collector import metrics
from services.collector.summary import summary_of
from soliloquy.dataset.manifest import UnreadableManifest
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.retry import CannotServe
from soliloquy.runtime.transports.port import Delivery
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished


class Store(Protocol):
    async def add(self, conversation: Conversation, faults: list[str], origin: Origin) -> None: ...


async def collect(event: ConversationFinished, delivery: Delivery, store: Store) -> Outcome:
    """Stores the conversation before announcing it, so that everyone who hears of it can read it."""
    conversation = event.conversation
    topic, partition = delivery.partition
    origin = Origin(topic=topic, partition=partition, offset=delivery.offset)
    recipe = find(conversation.run.recipe)
    recipe.labels.check(conversation)
    checked = recipe.review(conversation)
    faults = list(checked.faults)
    try:
        await store.add(conversation, faults, origin)
    except (OSError, UnreadableManifest) as error:
        raise CannotServe(f"the conversation cannot be stored: {error}") from error
    metrics.finished(conversation, checked)
    judged = Conversation(
        id=conversation.id,
        run=conversation.run,
        ordinal=conversation.ordinal,
        attempt=conversation.attempt,
        problem=conversation.problem if faults else None,
        ending=conversation.ending,
    )
    collected = ConversationCollected(
        conversation=judged,
        accepted=not faults,
        reasons=faults,
        summary=summary_of(conversation, checked),
        finished=origin,
    )
    return emit(collected)
