"""An engine that repeats its prompt, token by token."""

from collections.abc import AsyncGenerator
from pathlib import Path

from soliloquy.v1.model_pb2 import Finish
from soliloquy_services.model.engines.engine import TokenDelta, TokenRequest
from soliloquy_services.model.engines.settings import EngineSettings


class EchoEngine:
    name = "echo"
    version = "0.1.0"
    fault = ""

    def __init__(self, settings: EngineSettings) -> None:
        self.context_tokens = settings.cache_tokens

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        for token in request.tokens:
            yield TokenDelta(tokens=[token])
        yield TokenDelta(tokens=[], finish=Finish.FINISH_STOP)

    async def load_adapter(self, name: str, path: Path) -> None: ...

    async def unload_adapter(self, name: str) -> None: ...
