"""Waits for replies to requests that go in batches: a wait costs an event, and lasts as long as a batch does."""

import asyncio
from collections.abc import Mapping
from typing import Any

from soliloquy.runtime.model.batch_table import ANSWERED, BatchTable
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.model.openai_format import error_words
from soliloquy.runtime.model.openai_http import Reply
from soliloquy.runtime.model.remote import TRIES
from soliloquy.runtime.model.settings import Endpoint, described
from soliloquy.v1.model_pb2 import GenerateRequest

LOOK_SECONDS = 0.1


class BatchQueue:
    """Must be created inside the event loop that uses it."""

    def __init__(self, name: str, endpoint: Endpoint, table: BatchTable) -> None:
        self._name = name
        self._endpoint = endpoint
        self._table = table
        self._waiting: dict[str, asyncio.Event] = {}
        self._last = table.last_reply
        self._looking = asyncio.create_task(self._look_always())

    async def reply(self, request: GenerateRequest, body: Mapping[str, Any]) -> Reply:
        asked = self._table.ask(self._name, self._endpoint, request, body)
        while (found := self._table.reply(asked)) is None:
            await self._replied(asked)
        status, content = found
        if status != ANSWERED and may_pass(status):
            where, words = described(self._name, self._endpoint), error_words(content)
            raise ModelFailed(f"{where} failed at the same request in {TRIES} batches: {status}: {words}")
        return Reply(status=status, content=content)

    async def _replied(self, request: str) -> None:
        if self._looking.done():
            # It says why nobody looks.
            self._looking.result()
        await self._waiting.setdefault(request, asyncio.Event()).wait()

    async def _look_always(self) -> None:
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                for number, request in self._table.replied(self._last):
                    self._last = number
                    if replied := self._waiting.pop(request, None):
                        replied.set()
        finally:
            for replied in self._waiting.values():
                replied.set()

    def close(self) -> None:
        self._looking.cancel()


def may_pass(status: int) -> bool:
    """Whether a request that failed with this status is asked again in another batch."""
    return status >= 500 or status in (408, 409, 425, 429)
