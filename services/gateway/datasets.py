"""Reads single conversations from the datasets, or else from their topic."""

import asyncio
from contextlib import aclosing

from soliloquy.runtime.reading import messages
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.gateway.index import Entry
from soliloquy_services.gateway.refusals import Code, Refusal


async def read_conversation(entry: Entry, transport: Transport, datasets: str | None) -> Conversation:
    """`datasets` is the collector's folder or object store; raises Refusal where the conversation is in neither."""
    conversation = await asyncio.to_thread(_in_datasets, entry, datasets) if datasets else None
    if conversation is None and entry.origin:
        conversation = await _in_topic(entry.origin, entry.shown.id, transport)
    if conversation is None:
        raise Refusal(
            Code.UNAVAILABLE,
            f"conversation {entry.shown.id} of run {entry.shown.run} cannot be read: its topic has dropped it, "
            "and no dataset here holds it; start the gateway with the collector's --data or --store",
        )
    return conversation


def _in_datasets(entry: Entry, datasets: str) -> Conversation | None:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.reading import Dataset, NoDataset

    try:
        return Dataset(f"{datasets}/{entry.shown.run}").whole(entry.shown.id, rejected=not entry.shown.accepted)
    except NoDataset:
        return None


async def _in_topic(origin: Origin, conversation_id: str, transport: Transport) -> Conversation | None:
    if origin.topic != TOPIC_OF[ConversationFinished].name:
        return None
    events = transport.read(origin.topic, [origin.partition], {origin.partition: origin.offset})
    async with aclosing(messages(events)) as heard:
        async for _, message in heard:
            assert isinstance(message, ConversationFinished)
            return message.conversation if message.conversation.id == conversation_id else None
    return None
