"""A stand-in for an OpenAI-compatible API that can fail like real ones, for tests and load."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from aiohttp import web

from services.model.engines.scripted import word_completion
from services.model.fake.schema_values import sentence, value_of
from soliloquy.runtime.completions import LAST_EVENT, ChatResponse, error_body, sse
from soliloquy.runtime.listening import listening
from soliloquy.runtime.model import Model, ModelRefused
from soliloquy.runtime.model.openai_client import PROMPT_HEADER, SEED_HEADER
from soliloquy.runtime.seeds import draw
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message

MAX_REQUEST_BYTES = 4 * 1024**2
PIECE_CHARACTERS = 16
LAST_WORDS_SECONDS = 0.2


class Fate(Enum):
    ANSWERED = "answered"
    # 429, with Retry-After.
    THROTTLED = "throttled"
    # 500.
    FAILED = "failed"
    # The body stops half-way and the connection closes.
    TRUNCATED = "truncated"
    # The body is not JSON.
    MALFORMED = "malformed"
    # Never answers.
    HUNG = "hung"


@dataclass(frozen=True, kw_only=True, slots=True)
class FakeSettings:
    """Faults only occur during storms, at the end of every period; a period of 0 is a permanent storm."""

    # The share of requests during a storm that have each fault.
    throttled: float = 0.0
    failed: float = 0.0
    truncated: float = 0.0
    malformed: float = 0.0
    hung: float = 0.0
    period: float = 0.0
    storm: float = 0.0
    # The seconds of an answer.
    latency: float = 0.0
    seed: int = 0
    # The value of Retry-After; empty for no header.
    retry_after: str = "1"
    # The required API key; empty for none.
    key: str = field(default="", repr=False)

    def fate_of(self, request: int, elapsed: float) -> Fate:
        """Returns the fate of a request by its number."""
        drawn, reached = draw("weather", self.seed, request).random(), 0.0
        is_calm = self.period and elapsed % self.period < self.period - self.storm
        for fate in () if is_calm else Fate:
            reached += getattr(self, fate.value, 0.0)
            if drawn < reached:
                return fate
        return Fate.ANSWERED


class FakeServer:
    """Answers with `model` if the request names its prompt, otherwise with random values for the schema."""

    def __init__(self, model: Model, settings: FakeSettings) -> None:
        self._model = model
        self._settings = settings
        self._began = time.monotonic()
        # Counts the requests by fate.
        self.fates: Counter[Fate] = Counter()

    @asynccontextmanager
    async def serving(self, address: str) -> AsyncIterator[str]:
        """Serves on the address and yields the URL; port 0 picks a free port."""
        app = web.Application(client_max_size=MAX_REQUEST_BYTES)
        app.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=LAST_WORDS_SECONDS)
        await runner.setup()
        with listening(address) as listener:
            try:
                await web.SockSite(runner, listener).start()
                self._began = time.monotonic()
                yield f"http://{address.rpartition(':')[0]}:{listener.getsockname()[1]}/v1"
            finally:
                await runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self._settings.key not in ("", key):
            # Some servers repeat the key.
            return _error(401, f"Incorrect API key provided: {key}", code="invalid_api_key")
        fate = self._settings.fate_of(self.fates.total(), time.monotonic() - self._began)
        self.fates[fate] += 1
        if fate is Fate.THROTTLED:
            headers = {"Retry-After": self._settings.retry_after} if self._settings.retry_after else {}
            return _error(429, "Rate limit reached", code="rate_limit_exceeded", headers=headers)
        if fate is Fate.HUNG:
            await asyncio.Event().wait()
        body = await request.read()
        await asyncio.sleep(self._settings.latency)
        if fate is Fate.FAILED:
            return _error(500, "The server had an error while processing your request", code="internal_error")
        try:
            params = json.loads(body)
            completion = await self._completion(params, request.headers)
        except (ValueError, KeyError, TypeError, ModelRefused) as error:
            return _error(400, f"{type(error).__name__}: {error}", code="invalid_request")
        answer = ChatResponse(params["model"])
        if params.get("stream"):
            usage = (params.get("stream_options") or {}).get("include_usage", False)
            return await self._stream(request, answer, completion, usage=usage, cut=fate is Fate.TRUNCATED)
        content = json.dumps(answer.whole(completion), ensure_ascii=False).encode()
        if fate is Fate.TRUNCATED:
            return await _cut(request, content)
        return web.Response(body=content[1:] if fate is Fate.MALFORMED else content, content_type="application/json")

    async def _completion(self, params: dict[str, Any], headers: Mapping[str, str]) -> Completion:
        messages = [Message(role=message["role"], text=message["content"]) for message in params["messages"]]
        if prompt := headers.get(PROMPT_HEADER):
            request = GenerateRequest(prompt=prompt, messages=messages, seed=int(headers.get(SEED_HEADER, 0)))
            return await self._model.generate(request)
        chance = draw("fake", params.get("seed", 0), *(message.text for message in messages))
        chosen = params.get("response_format") or {"type": "text"}
        is_free = chosen["type"] != "json_schema"
        text = sentence(chance) if is_free else json.dumps(value_of(chosen["json_schema"]["schema"], chance))
        return word_completion(messages, text)

    async def _stream(
        self, request: web.Request, answer: ChatResponse, completion: Completion, *, usage: bool, cut: bool
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        text = completion.text
        pieces = [text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), PIECE_CHARACTERS)]
        for piece in pieces[: len(pieces) // 2] if cut else pieces:
            await response.write(sse(answer.chunk({"content": piece})).encode())
        if cut:
            return _hung_up(request, response)
        await response.write(sse(answer.chunk({}, completion.finish)).encode())
        if usage:
            await response.write(sse(answer.usage(completion)).encode())
        await response.write(LAST_EVENT.encode())
        return response


def _error(status: int, message: str, *, code: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response(error_body(status, message, code), status=status, headers=headers)


async def _cut(request: web.Request, content: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(content))})
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    return _hung_up(request, response)


def _hung_up(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport:
        request.transport.close()
    return response
