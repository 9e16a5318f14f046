"""A stand-in for an OpenAI-compatible API that can fail like real ones, for practice, tests and load."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from soliloquy.runtime.completions import LAST_EVENT, ChatResponse, model_entry, sse
from soliloquy.runtime.http_server import listening
from soliloquy.runtime.model import Model, ModelRefused, StreamListener
from soliloquy.runtime.model.openai_client import PROMPT_HEADER, SEED_HEADER
from soliloquy.runtime.model.openai_format import record_in
from soliloquy.runtime.model.samples import seeds_of, split, together
from soliloquy.runtime.seeds import digest, draw
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message, Record
from soliloquy_services.model.engines.scripted import ForeignLanguage, word_completion

MAX_REQUEST_BYTES = 4 * 1024**2
PIECE_CHARACTERS = 16
LAST_WORDS_SECONDS = 0.2
# The code of an error with which a filter stops a prompt.
FILTERED = "content_filter"
# The field of a message that holds the thoughts before it.
THOUGHTS = "reasoning_content"
_WORDS = ("force", "mass", "energy", "speed", "time", "height", "power", "charge", "heat", "wave")

Params = Mapping[str, Any]


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


@dataclass(frozen=True, kw_only=True)
class FakeSettings:
    # The share of requests that have each fault.
    throttled: float = 0.0
    failed: float = 0.0
    truncated: float = 0.0
    malformed: float = 0.0
    hung: float = 0.0
    # The seconds of an answer.
    latency: float = 0.0
    seed: int = 0
    # The value of Retry-After; empty for no header.
    retry_after: str = "1"
    # The required API key; empty for none.
    key: str = field(default="", repr=False)

    def fate_of(self, request: int) -> Fate:
        """Returns the fate of a request by its number."""
        drawn, reached = draw("weather", self.seed, request).random(), 0.0
        for fate in Fate:
            reached += getattr(self, fate.value, 0.0)
            if drawn < reached:
                return fate
        return Fate.ANSWERED


@dataclass(eq=False)
class RefusedRequest(Exception):
    status: int
    message: str
    param: str = ""
    code: str = ""


class RecordingEngine:
    """Answers the requests of a recording, and no others."""

    def __init__(self, recorded: Iterable[tuple[GenerateRequest, Completion]]) -> None:
        self._answers = {
            _digest(request, seed): sample
            for request, answer in recorded
            for seed, sample in zip(seeds_of(request), split(answer), strict=False)
        }

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        if (answer := self._answers.get(_digest(request, request.seed))) is None:
            raise ModelRefused(
                f"the recording has no answer to this request of {request.prompt}: replay it with the recipe, "
                "problems, seed, options and version that it was recorded with"
            )
        return answer


def _digest(request: GenerateRequest, seed: int) -> str:
    return digest(seed, *(part for message in request.messages for part in (message.role, message.text)))


class FakeServer:
    """Answers with `model` if the request has its record, otherwise with a random sentence."""

    # The path of the API, and the query that it requires.
    path, query = "/v1", ""
    owner = "stand-in"

    def __init__(self, model: Model, settings: FakeSettings, *, needs_record: bool = True) -> None:
        """A model that does not need the record of a request answers all, and says itself what model it is."""
        self._model = model
        self._needs_record = needs_record
        self._settings = settings
        self.fates: Counter[Fate] = Counter()

    @asynccontextmanager
    async def serving(self, address: str) -> AsyncIterator[str]:
        """Serves on the address and yields the URL; port 0 picks a free port."""
        app = web.Application(client_max_size=MAX_REQUEST_BYTES, middlewares=[self._check_key])
        self.add_routes(app.router)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=LAST_WORDS_SECONDS)
        await runner.setup()
        with listening(address) as listener:
            try:
                await web.SockSite(runner, listener).start()
                host, port = address.rpartition(":")[0], listener.getsockname()[1]
                yield f"http://{host}:{port}{self.path}{self.query}"
            finally:
                await runner.cleanup()

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post(f"{self.path}/chat/completions", self._complete)
        router.add_get(f"{self.path}/models", self._list)

    def key_of(self, request: web.Request) -> str:
        return request.headers.get("Authorization", "").removeprefix("Bearer ")

    def fate(self) -> Fate:
        """Decides about the next request."""
        return self._settings.fate_of(self.fates.total())

    def error(self, refused: RefusedRequest) -> Any:
        """Returns the body of an error."""
        kind, param = "invalid_request_error", refused.param or None
        return {"error": {"message": refused.message, "type": kind, "param": param, "code": refused.code or None}}

    def message(self, completion: Completion) -> dict[str, Any]:
        """Returns the message of an answer."""
        is_refusal = completion.finish == Finish.FINISH_REFUSAL
        content, refusal = (None, completion.text) if is_refusal else (completion.text, None)
        thoughts = {THOUGHTS: completion.reasoning}
        return {"role": "assistant", "content": content, "refusal": refusal, **thoughts}

    def usage(self, completion: Completion) -> dict[str, Any]:
        """Returns the counts beyond those of every endpoint, and in place of them."""
        held, written = completion.cached_tokens, completion.cache_write_tokens
        thought = sum(sample.reasoning_tokens for sample in (completion, *completion.more))
        return {
            "prompt_tokens_details": {"cached_tokens": held, "cache_write_tokens": written},
            "completion_tokens_details": {"reasoning_tokens": thought},
        }

    def check(self, params: dict[str, Any]) -> None:
        """Raises RefusedRequest for parameters that the endpoint refuses."""

    async def completion(self, params: dict[str, Any], headers: Mapping[str, str], *, arrives: bool) -> Completion:
        """Works on a request, of which the answer may get lost; raises RefusedRequest."""
        try:
            record = record_in(params)
            self.check(params)
            return await self._completion(params, headers, record)
        except (ValueError, KeyError, TypeError, ModelRefused) as error:
            raise _refusal(error) from error

    async def sample(self, request: GenerateRequest, params: Params) -> Completion:
        """Returns an answer of the model; raises ModelRefused."""
        return await self._model.generate(request)

    def whole(self, params: Params, completion: Completion) -> dict[str, Any]:
        whole = self._response(params, completion).whole(completion)
        for choice, sample in zip(whole["choices"], (completion, *completion.more), strict=True):
            choice |= {"message": self.message(sample)}
        whole["usage"] |= self.usage(completion)
        return whole

    async def _list(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"object": "list", "data": [model_entry("scripted") | {"owned_by": self.owner}]})

    @web.middleware
    async def _check_key(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        key = self.key_of(request)
        if self._settings.key not in ("", key) and request.method != "GET":
            # Some servers repeat the key.
            return self._error(RefusedRequest(401, f"Incorrect API key provided: {key}", code="invalid_api_key"))
        try:
            return await handler(request)
        except (RefusedRequest, ValueError) as error:
            return self._error(_refusal(error))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        fate = self.fate()
        self.fates[fate] += 1
        if fate is Fate.THROTTLED:
            headers = {"Retry-After": self._settings.retry_after} if self._settings.retry_after else {}
            return self._error(RefusedRequest(429, "Rate limit reached", code="rate_limit_exceeded"), headers)
        if fate is Fate.HUNG:
            await asyncio.Event().wait()
        body = await request.read()
        await asyncio.sleep(self._settings.latency)
        if fate is Fate.FAILED:
            message = "The server had an error while processing your request"
            return self._error(RefusedRequest(500, message, code="internal_error"))
        params = json.loads(body)
        # An answer that gets lost on its way was worked on, and costs the same.
        completion = await self.completion(params, request.headers, arrives=fate is Fate.ANSWERED)
        if params.get("stream"):
            return await self._stream(request, params, completion, cut=fate is Fate.TRUNCATED)
        content = json.dumps(self.whole(params, completion), ensure_ascii=False).encode()
        if fate is Fate.TRUNCATED:
            return await _cut(request, content)
        return web.Response(body=content[1:] if fate is Fate.MALFORMED else content, content_type="application/json")

    async def _completion(self, params: Params, headers: Mapping[str, str], record: Record | None) -> Completion:
        samples = params.get("n") or 1
        prompt = headers.get(PROMPT_HEADER, "")
        if prompt:
            seeds = [int(seed) for seed in headers.get(SEED_HEADER, "0").split(",")][:samples]
        else:
            seeds = [(params.get("seed") or 0) + number for number in range(samples)]
        messages = [Message(role=message["role"], text=text_of(message)) for message in params["messages"]]
        if not prompt or (record is None and self._needs_record):
            chances = [draw("fake", seed, *(message.text for message in messages)) for seed in seeds]
            return together([word_completion(messages, sentence(chance)) for chance in chances])
        requests = [GenerateRequest(prompt=prompt, messages=messages, seed=seed, record=record) for seed in seeds]
        return together([await self._sampled(request, params) for request in requests])

    async def _sampled(self, request: GenerateRequest, params: Params) -> Completion:
        try:
            completion = await self.sample(request, params)
        except ModelRefused as refused:
            # No other call would fare better: the run is in another language, or is not the recorded one.
            is_hopeless = isinstance(refused, ForeignLanguage) or not self._needs_record
            raise RefusedRequest(404, str(refused)) if is_hopeless else _refusal(refused) from refused
        if completion.finish == Finish.FINISH_FILTER:
            raise RefusedRequest(400, "The prompt triggered the content management policy", code=FILTERED)
        return completion

    def _response(self, params: Params, completion: Completion) -> ChatResponse:
        return ChatResponse(params["model"] if self._needs_record else completion.model)

    def _error(self, refused: RefusedRequest, headers: Mapping[str, str] | None = None) -> web.Response:
        return web.json_response(self.error(refused), status=refused.status, headers=headers)

    async def _stream(
        self, request: web.Request, params: Params, completion: Completion, *, cut: bool
    ) -> web.StreamResponse:
        answer, response = self._response(params, completion), web.StreamResponse()
        response.headers["Content-Type"] = "text/event-stream"
        await response.prepare(request)
        for name, text in self.message(completion).items():
            pieces = _pieces(text) if name != "role" and text else []
            for piece in pieces[: len(pieces) // 2] if cut else pieces:
                await response.write(sse(answer.chunk({name: piece})).encode())
        if cut:
            return _hung_up(request, response)
        await response.write(sse(answer.chunk({}, completion.finish)).encode())
        if (params.get("stream_options") or {}).get("include_usage", False):
            last = answer.usage(completion)
            last["usage"] |= self.usage(completion)
            await response.write(sse(last).encode())
        await response.write(LAST_EVENT.encode())
        return response


def text_of(message: Params) -> str:
    """Returns the text of a message, which may come in parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def sentence(chance: Random) -> str:
    return f"I think about the {chance.choice(_WORDS)} and the {chance.choice(_WORDS)}."


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
