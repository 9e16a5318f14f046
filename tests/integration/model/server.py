"""`soliloquy model serve` with an echo engine that tests can block and break."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from benchmarks.echo import Echo
from soliloquy.cli.model_serve import run
from soliloquy.runtime.failure import Failure
from soliloquy.v1.model_pb2 import Delta, GenerateRequest
from soliloquy_services.model.settings import ServingSettings

# A message that begins with it leaves the engine standing still; one with the other takes the seconds after it.
STICK = "stick"
TAKE = "take "


class Breakable(Echo):
    """Names its replica in its answers."""

    def __init__(self) -> None:
        super().__init__()
        self._stuck = ""

    @property
    def fault(self) -> str:
        return self._stuck

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        text = request.messages[-1].text
        if text.startswith(STICK):
            self._stuck = "no step for 60 s with a request at hand"
            await asyncio.Event().wait()
        if text.startswith(TAKE):
            await asyncio.sleep(float(text.split()[1]))
        async for delta in super().stream(request):
            if delta.HasField("completion"):
                delta.completion.model = f"replica {os.getpid()}"
            yield delta


def main(grpc_port: int, http_port: int, adapter: Path) -> None:
    settings = ServingSettings(
        grpc_port=grpc_port,
        http_port=http_port,
        min_replicas=2,
        max_replicas=2,
        max_ongoing=8,
        max_queued=8,
        grace=10.0,
        health_seconds=0.5,
        adapters={"first": str(adapter)},
    )
    try:
        run(Breakable, settings)
    except Failure as failure:
        sys.exit(f"soliloquy: {failure}")


if __name__ == "__main__":
    from tests.integration.model.server import main as importable

    importable(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
