"""What runs beside the pipeline, as a process: a model service's engine that is asked, and a training that goes on.

`python -m tests.integration.observability.beside FOLDER PORT` serves their metrics until it is ended.
"""

import asyncio
import itertools
import sys
from contextlib import suppress
from pathlib import Path

from prometheus_client import start_http_server
from soliloquy.v1.model_pb2 import Adapter

from services.model.bench.random_weights import make_adapter, make_base
from services.model.engines.engine import InvalidRequest
from tests.integration.model.support import answer, request, started

PAUSE_SECONDS = 0.5


async def ask(folder: Path) -> None:
    """The base model and an adapter of it in turn; now and then something that cannot be answered."""
    base = make_base(folder / "tiny")
    async with started(base) as chat:
        await chat.load_adapter(Adapter(name="algebra", path=str(make_adapter(folder / "algebra", base, 0))))
        for number in itertools.count():
            await asyncio.gather(
                *(answer(chat, request(f"Why, {number}?", adapter=name, max_tokens=8)) for name in ("", "algebra"))
            )
            if number % 5 == 0:
                with suppress(InvalidRequest):
                    await answer(chat, request(max_tokens=-1))
            await asyncio.sleep(PAUSE_SECONDS)


async def main(folder: Path, port: int) -> None:
    start_http_server(port, "127.0.0.1")
    await ask(folder)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
