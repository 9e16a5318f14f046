"""Asks again what a transport did not answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from soliloquy.runtime.transports.port import Unanswered

T = TypeVar("T")

PAUSE_SECONDS = 0.5


async def retry_until_answered(ask: Callable[[], Awaitable[T]]) -> T:
    """Retries while nothing answers."""
    while True:
        try:
            return await ask()
        except Unanswered:
            await asyncio.sleep(PAUSE_SECONDS)
