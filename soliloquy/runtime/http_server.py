"""An HTTP server on one address, for as long as it is wanted."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from soliloquy.runtime.listening import listening


@asynccontextmanager
async def http_server(address: str, application: Any, **settings: Any) -> AsyncIterator[str]:
    """Says where it answers: port 0 takes any that is free; the settings are uvicorn's."""
    with listening(address) as listener:
        config = uvicorn.Config(
            application,
            ws="none",
            lifespan="off",
            log_config=None,
            # What goes wrong in an answer is logged where it does.
            log_level=logging.CRITICAL,
            access_log=False,
            **settings,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"{address.rpartition(':')[0]}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the service's own business."""
        yield
