"""A stand-in for an OpenAI-compatible API that can fail like real ones, for tests and load."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from soliloquy.runtime.completions import LAST_EVENT, ChatResponse, model_entry, sse
from soliloquy.runtime.http_server import listening
from soliloquy.runtime.model import Model, ModelRefused
from soliloquy.runtime.model.dialects import BATCH_FORMS, UNKNOWN
from soliloquy.runtime.model.openai_client import PROMPT_HEADER, SEED_HEADER
from soliloquy.runtime.model.openai_format import record_in
from soliloquy.runtime.model.samples import together
from soliloquy.runtime.seeds import draw
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message, Record
from soliloquy_services.model.engines.scripted import word_completion
from soliloquy_services.model.fake.batches import FakeBatches
from soliloquy_services.model.fake.dialects import (
    FILTERED,
    RefusedRequest,
    SpokenDialect,
    asked_schema,
    sentence,
    shaped,
)
from soliloquy_services.model.fake.file_batches import FileRoutes
from soliloquy_services.model.fake.invoice import Invoice, PrefixCache, text_of
from soliloquy_services.model.fake.message_batches import MessageRoutes, as_chat_request, as_message
from soliloquy_services.model.fake.settings import FakeSettings, Fate, Manners

MAX_REQUEST_BYTES = 4 * 1024**2
PIECE_CHARACTERS = 16
LAST_WORDS_SECONDS = 0.2


class FakeServer:
    """Answers with `model` if the request has its record, otherwise with a random sentence."""

    def __init__(
        self, model: Model, settings: FakeSettings, noisy: Model | None = None, *, needs_record: bool = True
    ) -> None:
        """`noisy` gives answers that no schema constrains; with it, answers have manners.

        A model that does not need the record of a request answers all, and says itself what model it is.
        """
        self._model = model
        self._noisy = noisy
        self._needs_record = needs_record
        self._settings = settings
        self._dialect = SpokenDialect(settings.dialect or UNKNOWN)
        self.manners = Manners(self._dialect)
        self._cache = (
            None
            if settings.prefix_cache is None
            else PrefixCache(settings.prefix_cache, by_marks=self._dialect.dialect.batches == "messages")
        )
        self.invoice = Invoice()
        works = self._message_line if self._dialect.dialect.batches == "messages" else self._line
        self.batches = FakeBatches(works, settings.batch_faults, seconds=settings.batch_latency, seed=settings.seed)
        self._began = time.monotonic()
        # Counts the requests by fate, and those of a form that the dialect refuses.
        self.fates: Counter[Fate] = Counter()
        self.refused = 0

    @asynccontextmanager
    async def serving(self, address: str) -> AsyncIterator[str]:
        """Serves on the address and yields the URL; port 0 picks a free port."""
        app = web.Application(client_max_size=MAX_REQUEST_BYTES, middlewares=[self._check_key])
        path, version = self._dialect.path, self._dialect.version
        app.router.add_post(f"{path}/chat/completions", self._complete)
        app.router.add_get(f"{path}/models", self._list)
        app.router.add_get(f"{path}/invoice", self._bill)
        if form := BATCH_FORMS.get(self._dialect.dialect.batches):
            routes = MessageRoutes if self._dialect.dialect.batches == "messages" else FileRoutes
            routes(self.batches, form).add_to(app.router, path)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=LAST_WORDS_SECONDS)
        await runner.setup()
        with listening(address) as listener:
            try:
                await web.SockSite(runner, listener).start()
                self._began = time.monotonic()
                host, port = address.rpartition(":")[0], listener.getsockname()[1]
                yield f"http://{host}:{port}{path}{version and '?'}{version}"
            finally:
                await self.batches.close()
                await runner.cleanup()

    async def _list(self, _: web.Request) -> web.StreamResponse:
        owner = self._dialect.dialect.owner or "stand-in"
        return web.json_response({"object": "list", "data": [model_entry("scripted") | {"owned_by": owner}]})

    async def _bill(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(self.invoice.lines)

    @web.middleware
    async def _check_key(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        form = BATCH_FORMS.get(self._dialect.dialect.batches) if "/batches" in request.path else None
        header = (form and form.key_header) or self._dialect.dialect.key_header
        key = request.headers.get(header, "").removeprefix("Bearer ")
        if self._settings.key not in ("", key) and request.method != "GET":
            # Some servers repeat the key.
            return self._error(RefusedRequest(401, f"Incorrect API key provided: {key}", code="invalid_api_key"))
        try:
            return await handler(request)
        except (RefusedRequest, ValueError) as error:
            return self._error(_refusal(error))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if self._dialect.version.partition("=")[0] not in ("", *request.query):
            return self._error(RefusedRequest(404, "Resource not found", code="404"))
        fate = self._settings.fate_of(self.fates.total(), time.monotonic() - self._began)
        self.fates[fate] += 1
        if fate is Fate.THROTTLED:
            headers = {"Retry-After": self._settings.retry_after} if self._settings.retry_after else {}
            refused = RefusedRequest(429, "Rate limit reached", code="rate_limit_exceeded")
            return self._error(refused, headers)
        if fate is Fate.HUNG:
            await asyncio.Event().wait()
        body = await request.read()
        await asyncio.sleep(self._settings.latency)
        if fate is Fate.FAILED:
            message = "The server had an error while processing your request"
            return self._error(RefusedRequest(500, message, code="internal_error"))
        params = json.loads(body)
        # An answer that gets lost on its way was worked on, and costs the same.
        completion = await self._billed(params, request.headers, arrives=fate is Fate.ANSWERED)
        answer = self._response(params, completion)
        if params.get("stream"):
            usage = (params.get("stream_options") or {}).get("include_usage", False)
            return await self._stream(request, answer, completion, usage=usage, cut=fate is Fate.TRUNCATED)
        content = json.dumps(self._whole(answer, completion), ensure_ascii=False).encode()
        if fate is Fate.TRUNCATED:
            return await _cut(request, content)
        return web.Response(body=content[1:] if fate is Fate.MALFORMED else content, content_type="application/json")

    async def _line(self, params: dict[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        """Works on a request of a batch; returns the status and the body of its answer."""
        try:
            completion = await self._billed(params, headers, arrives=True)
        except RefusedRequest as refused:
            return refused.status, self._dialect.error(refused)
        return 200, self._whole(self._response(params, completion), completion)

    async def _message_line(self, params: dict[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        """Works on a request of a batch of messages."""
        try:
            completion = await self._billed(as_chat_request(params), headers, arrives=True)
        except RefusedRequest as refused:
            return refused.status, {"error": {"message": refused.message}}
        return 200, as_message(params["model"], completion)

    async def _billed(self, params: dict[str, Any], headers: Mapping[str, str], *, arrives: bool) -> Completion:
        """Works on a request and bills it; raises RefusedRequest."""
        try:
            record = record_in(params)
            if self._settings.dialect:
                self._dialect.check(params)
            completion = await self._completion(params, headers, record)
        except RefusedRequest as refused:
            self.refused += refused.code != FILTERED
            raise
        except (ValueError, KeyError, TypeError, ModelRefused) as error:
            raise _refusal(error) from error
        if self._cache:
            held, written = self._cache.use(params)
            completion.cached_tokens = min(held, completion.prompt_tokens)
            completion.cache_write_tokens = min(written, completion.prompt_tokens - completion.cached_tokens)
        self.invoice.add(params, headers, completion, arrives=arrives)
        return completion

    def _response(self, params: dict[str, Any], completion: Completion) -> ChatResponse:
        return ChatResponse(params["model"] if self._needs_record else completion.model)

    def _whole(self, answer: ChatResponse, completion: Completion) -> dict[str, Any]:
        whole = answer.whole(completion)
        for choice, sample in zip(whole["choices"], (completion, *completion.more), strict=True):
            choice |= {"message": self._dialect.message(sample)}
        whole["usage"] |= self._dialect.usage(completion)
        return whole

    async def _completion(
        self, params: dict[str, Any], headers: Mapping[str, str], record: Record | None
    ) -> Completion:
        samples = 1 if "n" in self._dialect.dialect.without else params.get("n") or 1
        if prompt := headers.get(PROMPT_HEADER):
            seeds = [int(seed) for seed in headers.get(SEED_HEADER, "0").split(",")]
        else:
            seeds = [(params.get("seed") or 0) + number for number in range(samples)]
        return together([await self._sample(params, prompt, seed, record) for seed in seeds[:samples]])

    async def _sample(self, params: dict[str, Any], prompt: str | None, seed: int, record: Record | None) -> Completion:
        messages = [Message(role=message["role"], text=text_of(message)) for message in params["messages"]]
        if prompt and (record or not self._needs_record):
            request = GenerateRequest(prompt=prompt, messages=messages, seed=seed, record=record)
            schema = asked_schema(params) if self._settings.dialect and self._dialect.dialect.enforces else None
            model = self._model if schema else self._noisy or self._model
            try:
                completion = await model.generate(request)
            except ModelRefused as refused:
                # No other call would fare better where a model needs no record: the run is not the recorded one.
                raise _refusal(refused) if self._needs_record else RefusedRequest(404, str(refused)) from refused
            if self._noisy:
                completion = self.manners.dress(completion, draw("manners", request.seed, prompt))
            if completion.finish == Finish.FINISH_FILTER:
                raise RefusedRequest(400, "The prompt triggered the content management policy", code=FILTERED)
            if schema and completion.finish == Finish.FINISH_STOP:
                completion.text = shaped(completion.text, schema)
            return completion
        chance = draw("fake", seed, *(message.text for message in messages))
        return word_completion(messages, sentence(chance))

    def _error(self, refused: RefusedRequest, headers: Mapping[str, str] | None = None) -> web.Response:
        return web.json_response(self._dialect.error(refused), status=refused.status, headers=headers)

    async def _stream(
        self, request: web.Request, answer: ChatResponse, completion: Completion, *, usage: bool, cut: bool
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        message = self._dialect.message(completion)
        for name, text in message.items():
            pieces = _pieces(text) if name != "role" and text else []
            for piece in pieces[: len(pieces) // 2] if cut else pieces:
                await response.write(sse(answer.chunk({name: piece})).encode())
        if cut:
            return _hung_up(request, response)
        await response.write(sse(answer.chunk({}, completion.finish)).encode())
        if usage:
            last = answer.usage(completion)
            last["usage"] |= self._dialect.usage(completion)
            await response.write(sse(last).encode())
        await response.write(LAST_EVENT.encode())
        return response


def _refusal(error: Exception) -> RefusedRequest:
    if isinstance(error, RefusedRequest):
        return error
    return RefusedRequest(400, f"{type(error).__name__}: {error}", code="invalid_request")


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), PIECE_CHARACTERS)]


async def _cut(request: web.Request, content: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(content))})
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    return _hung_up(request, response)


def _hung_up(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport:
        request.transport.close()
    return response
