"""Bounds how long a caller waits for an answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from soliloquy.runtime.transports.port import Unanswered
from soliloquy_services.gateway.validation import Code, Refusal

# A start may read a large file of problems.
ANSWER_SECONDS = 30.0
RETRY_SECONDS = 1.0


@asynccontextmanager
async def answered() -> AsyncIterator[None]:
    """Refuses the call if a log or a disk does not answer in time."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            yield
    except TimeoutError as error:
        line = f"the events could not be read or written within {ANSWER_SECONDS:g} s: try again in a moment"
        raise Refusal(Code.UNAVAILABLE, line, retry_after=RETRY_SECONDS) from error
    except Unanswered as error:
        raise Refusal(Code.UNAVAILABLE, f"{error}: try again in a moment", retry_after=RETRY_SECONDS) from error
