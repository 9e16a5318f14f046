"""An endpoint of a few responses, and a client of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from soliloquy.runtime.http_server import listening
from soliloquy.runtime.model.agreements import agreement_with
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

SECRET = "sk-very-secret"
REQUEST = GenerateRequest(
    role="tutor",
    prompt="soliloquy/deciding",
    messages=[Message(role="system", text="Decide."), Message(role="user", text="3 × 4 = 11?")],
    schema='{"type": "object"}',
    sampling=Sampling(temperature=0.5, top_p=0.9, max_tokens=77),
    seed=2**63 + 5,
)
ANSWER = {
    "model": "large-2026",
    "choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3},
}


class Far:
    """An endpoint that gives its responses in turn, repeats the last one, and keeps its requests."""

    def __init__(self, *answers: web.Response | Callable[[], web.Response]) -> None:
        self._answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        # The models that it lists; None for an endpoint without a list.
        self.listed: list[dict[str, Any]] | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        place = min(len(self.bodies), len(self._answers)) - 1
        answer = self._answers[place]
        return answer() if callable(answer) else answer

    async def models(self, _: web.Request) -> web.StreamResponse:
        if self.listed is None:
            raise web.HTTPNotFound
        return web.json_response({"data": self.listed})


def said(status: int, body: Any = None, **headers: str) -> Callable[[], web.Response]:
    """Makes a response each time, because one can be sent only once."""
    return lambda: web.json_response(body if body is not None else ANSWER, status=status, headers=headers)


def error(status: int, message: str, **more: str) -> Callable[[], web.Response]:
    return said(status, {"error": {"message": message, **more}})


@asynccontextmanager
async def line_to(
    far: Far, *, key: str = SECRET, findings: Path | None = None, **settings: Any
) -> AsyncIterator[OpenAIClient]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", far.answer)
    app.router.add_get("/v1/models", far.models)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    with listening("127.0.0.1:0") as listener:
        await web.SockSite(runner, listener).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        endpoint = Endpoint(engine="openai", base_url=url, **{"model": "large", **settings})
        # A port may be that of an earlier test.
        agreement_with.cache_clear()
        line = OpenAIClient("hosted", endpoint, Key(key, "OPENAI_API_KEY"), findings)
        try:
            yield line
        finally:
            await line.close()
            await runner.cleanup()
