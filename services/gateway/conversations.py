"""Reads whole conversations: from the collector's datasets or, where the gateway sees none, from their topic."""

import asyncio
from contextlib import aclosing

from services.gateway.index import Entry
from services.gateway.refusals import Code, Refusal
from soliloquy.runtime.reading import messages
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationFinished


class ConversationReader:
    def __init__(self, transport: Transport, datasets: str | None) -> None:
        """`datasets` is the collector's folder or object store."""
        self._transport = transport
        self._datasets = datasets

    async def read(self, entry: Entry) -> Conversation:
        """Raises Refusal where the conversation can no longer be read."""
        conversation = await asyncio.to_thread(self._in_datasets, entry)
        if conversation is None and entry.origin:
            conversation = await self._in_topic(entry.origin, entry.shown.id)
        if conversation is None:
            raise Refusal(
                Code.UNAVAILABLE,
                f"conversation {entry.shown.id} of run {entry.shown.run} cannot be read: its topic has dropped it, "
                "and no dataset here holds it; start the gateway with the collector's --data or --store",
            )
        return conversation

    def _in_datasets(self, entry: Entry) -> Conversation | None:
        if self._datasets is None:
            return None
        # Imported here because it loads Arrow, which no start should wait for.
        from soliloquy.dataset.reading import Dataset, NoDataset

        try:
            return Dataset(f"{self._datasets}/{entry.shown.run}").whole(
                entry.shown.id, rejected=not entry.shown.accepted
            )
        except NoDataset:
            return None

    async def _in_topic(self, origin: Origin, conversation_id: str) -> Conversation | None:
        events = self._transport.read(origin.topic, [origin.partition], {origin.partition: origin.offset})
        async with aclosing(messages(events)) as heard:
            async for _, message in heard:
                assert isinstance(message, ConversationFinished)
                return message.conversation if message.conversation.id == conversation_id else None
        return None
