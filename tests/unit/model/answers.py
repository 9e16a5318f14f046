"""A backend that tests can pause and break, and requests for it."""

import asyncio
from collections.abc import AsyncGenerator

from benchmarks.echo import Echo
from soliloquy.v1.model_pb2 import Completion, Delta, GenerateRequest, Message


class Held(Echo):
    """Pauses after its first word until it is released; counts its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()
        self.asked = 0
        self.begun = asyncio.Event()
        self.given_up = asyncio.Event()
        self.error: Exception | None = None
        self.broken = ""

    @property
    def fault(self) -> str:
        return self.broken

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        self.asked += 1
        self.begun.set()
        ended = False
        try:
            async for delta in super().stream(request):
                ended = delta.HasField("completion")
                yield delta
                if self.error:
                    ended = True
                    raise self.error
                if not ended:
                    await self.let_go.wait()
        finally:
            if not ended:
                self.given_up.set()


class Seeded(Echo):
    """Says its seed; counts its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        self.asked += 1
        completion = Completion(text=f"seed {request.seed}", prompt_tokens=2, completion_tokens=2)
        yield Delta(text=completion.text, completion=completion)


def request(text: str = "two words", *, request_id: str = "", adapter: str = "") -> GenerateRequest:
    return GenerateRequest(messages=[Message(role="user", text=text)], id=request_id, adapter=adapter)
