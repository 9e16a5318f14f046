"""Sends the batches of a run. One process of the run does, whoever asks."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from soliloquy.runtime.model.batch_lines import FileBatches
from soliloquy.runtime.model.batch_messages import MessageBatches
from soliloquy.runtime.model.batch_sender import BatchSender
from soliloquy.runtime.model.batch_table import BatchTable
from soliloquy.runtime.model.dialects import BATCH_FORMS, dialect_of
from soliloquy.runtime.model.keys import key_of
from soliloquy.runtime.model.openai_http import OpenAIConnection
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.spending import Spending
from soliloquy.runtime.model.status import EndpointStatus


class BatchSenders:
    """The senders of all endpoints that are asked in batches."""

    def __init__(self, senders: Sequence[BatchSender]) -> None:
        self._senders = senders
        self._running: asyncio.Task[None] | None = None

    @property
    def statuses(self) -> list[EndpointStatus]:
        return [sender.status for sender in self._senders]

    async def run(self) -> None:
        self._running = asyncio.current_task()
        async with asyncio.TaskGroup() as group:
            for sender in self._senders:
                group.create_task(sender.run())

    async def settle(self) -> None:
        """Sends nothing more, and takes in what the endpoints still work on."""
        if self._running:
            self._running.cancel()
            await asyncio.wait([self._running])
        for sender in self._senders:
            await sender.settle()


@asynccontextmanager
async def open_senders(models: Models, spending: Spending, folder: Path) -> AsyncIterator[BatchSenders]:
    """`folder` has room for the file of a batch. Raises Failure for a missing key."""
    senders: list[BatchSender] = []
    connections: list[OpenAIConnection] = []
    try:
        for name, endpoint in models.used.items():
            if endpoint.batch:
                dialect = dialect_of(endpoint.dialect, endpoint.base_url, endpoint.model)
                form, table = BATCH_FORMS[dialect.batches], BatchTable(spending)
                connection = OpenAIConnection(name, endpoint, key_of(endpoint, name), dialect, form)
                connections.append(connection)
                api = (
                    MessageBatches(connection, form, table)
                    if dialect.batches == "messages"
                    else FileBatches(connection, form)
                )
                senders.append(BatchSender(name, endpoint, api, table, folder))
        yield BatchSenders(senders)
    finally:
        for connection in connections:
            await connection.close()
