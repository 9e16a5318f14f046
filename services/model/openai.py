"""The HTTP routes for OpenAI clients, on the same handler as gRPC."""

import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal

from prometheus_client import make_asgi_app
from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from soliloquy.runtime.completions import (
    LAST_EVENT,
    ChatResponse,
    CommonChatRequest,
    error_body,
    first_error,
    model_entry,
    sse,
)
from soliloquy.v1.model_pb2 import Delta, GenerateRequest, Message, Sampling
from soliloquy_services.model.engines.engine import MOST_LOGPROBS, InvalidRequest, UnknownAdapter
from soliloquy_services.model.errors import error_status
from soliloquy_services.model.handler import MAX_REQUEST_BYTES, MAX_SAMPLES, ModelHandler
from soliloquy_services.model.raw_completions import CompletionRequest
from soliloquy_services.model.shared_metrics import metrics_registry

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_RETRY_AFTER = {429: {"retry-after": "1"}, 503: {"retry-after": "1"}}


class _Schema(BaseModel):
    schema_: dict[str, Any] = Field(alias="schema")


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema | None = None

    def schema_text(self) -> str:
        match self.type:
            case "text":
                return ""
            case "json_object":
                return '{"type": "object"}'
            case _ if self.json_schema is None:
                raise InvalidRequest("response_format of type json_schema requires response_format.json_schema")
            case _:
                return json.dumps(self.json_schema.schema_)


class ChatRequest(CommonChatRequest):
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    max_completion_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    n: int | None = Field(default=None, ge=1, le=MAX_SAMPLES)
    stop: str | list[str] | None = None
    response_format: _Format | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)
    # May hold "role" and "prompt", which OpenAI's requests lack.
    metadata: dict[str, str] | None = None

    def request(self, adapter: str, request_id: str) -> GenerateRequest:
        """Raises InvalidRequest if it uses a feature that is not supported."""
        if flaw := self.unsupported_option():
            raise InvalidRequest(flaw)
        samples = self.n or 1
        if samples > 1 and self.stream:
            raise InvalidRequest(f"n is {samples}, which is not supported with stream: leave one of them out")
        if self.logprobs and self.stream:
            raise InvalidRequest("logprobs is true, which is not supported with stream: leave one of them out")
        # Without a seed every answer is different, as OpenAI's clients expect.
        seed = uuid.uuid4().int if self.seed is None else self.seed
        metadata = self.metadata or {}
        return GenerateRequest(
            role=metadata.get("role", ""),
            prompt=metadata.get("prompt", ""),
            messages=[Message(role=_ROLES[message.role], text=message.text) for message in self.messages],
            schema=self.response_format.schema_text() if self.response_format else "",
            sampling=Sampling(
                temperature=1.0 if self.temperature is None else self.temperature,
                top_p=1.0 if self.top_p is None else self.top_p,
                # 0 means up to the engine's limit.
                max_tokens=self.max_completion_tokens or self.max_tokens or 0,
                logprobs=bool(self.logprobs),
                top_logprobs=self.top_logprobs or 0,
                stop=self.stop if isinstance(self.stop, list) else filter(None, [self.stop]),
            ),
            seed=seed % 2**64,
            more_seeds=[(seed + number) % 2**64 for number in range(1, samples)],
            adapter=adapter,
            id=request_id,
        )


async def _nothing() -> None: ...


def application(handler: ModelHandler, stop: Callable[[], Awaitable[None]] = _nothing) -> Starlette:
    """Calls `stop` when the server shuts down."""
    calls = _Calls(handler)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await stop()

    return Starlette(
        routes=[
            Route("/v1/chat/completions", calls.complete, methods=["POST"]),
            Route("/v1/completions", calls.complete_raw, methods=["POST"]),
            Route("/v1/models", calls.models),
            Route("/v1/models/{name:path}", calls.model),
            Mount("/metrics", make_asgi_app(metrics_registry(calls.adapters))),
        ],
        exception_handlers={HTTPException: _no_route},
        lifespan=lifespan,
    )


class _Calls:
    def __init__(self, handler: ModelHandler) -> None:
        self._handler = handler

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [model_entry(name) for name in self._names()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            self._adapter(name)
        except UnknownAdapter as error:
            return _refused(error)
        return JSONResponse(model_entry(name))

    async def complete(self, request: Request) -> Response:
        try:
            chat = ChatRequest.model_validate_json(await _body(request))
            # OpenAI's clients repeat the key when they retry.
            generate_request = chat.request(self._adapter(chat.model), request.headers.get("idempotency-key", ""))
            answer, caller = ChatResponse(chat.model), request.headers.get("traceparent", "")
            if not chat.stream:
                return JSONResponse(answer.whole(await self._handler.generate(generate_request, caller)))
            deltas = self._handler.stream(generate_request, caller)
            # An invalid request fails before its first piece, while the status can still be set.
            events = _events(await anext(deltas), deltas, answer, usage=chat.wants_usage)
            return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        except ValidationError as error:
            return _refused(InvalidRequest(first_error(error)))
        except Exception as error:
            return _refused(error)

    async def complete_raw(self, request: Request) -> Response:
        try:
            asked = CompletionRequest.model_validate_json(await _body(request))
            requests = asked.requests(self._adapter(asked.model), request.headers.get("idempotency-key", ""))
            caller = request.headers.get("traceparent", "")
            return JSONResponse(asked.response(await self._handler.generate_all(requests, caller)))
        except ValidationError as error:
            return _refused(InvalidRequest(first_error(error)))
        except Exception as error:
            return _refused(error)

    def adapters(self) -> list[str]:
        return [adapter.name for adapter in self._handler.list_adapters().adapters]

    def _names(self) -> list[str]:
        return [self._handler.info().model, *self.adapters()]

    def _adapter(self, name: str) -> str:
        """Returns the adapter's name, or "" for the base model."""
        base, *adapters = self._names()
        if name == base:
            return ""
        if name not in adapters:
            raise UnknownAdapter(f"unknown model {name!r}: use one of {', '.join((base, *adapters))}")
        return name


async def _events(
    first: Delta, rest: AsyncGenerator[Delta, None], answer: ChatResponse, *, usage: bool
) -> AsyncIterator[str]:
    """Yields server-sent events; an error on the way becomes the last one."""
    async with aclosing(rest):
        try:
            yield sse(answer.chunk({"role": "assistant", "content": first.text}))
            completion = first.completion
            async for delta in rest:
                completion = delta.completion
                if delta.text:
                    yield sse(answer.chunk({"content": delta.text}))
            yield sse(answer.chunk({}, completion.finish))
            if usage:
                yield sse(answer.usage(completion))
            yield LAST_EVENT
        except Exception as error:
            yield sse(_error_body(error)[1])


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_REQUEST_BYTES:
            raise InvalidRequest(f"the request is above the limit of {MAX_REQUEST_BYTES} bytes")
    return bytes(body)


def _refused(error: Exception) -> Response:
    status, content = _error_body(error)
    return JSONResponse(content, status_code=status, headers=_RETRY_AFTER.get(status))


def _error_body(error: Exception) -> tuple[int, dict[str, Any]]:
    status, line = error_status(error)
    return status.http, error_body(status.http, line, status.name)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    routes = "POST /v1/chat/completions, POST /v1/completions or GET /v1/models"
    line = f"{request.method} {request.url.path} does not exist: use {routes}"
    return JSONResponse(error_body(error.status_code, line, ""), status_code=error.status_code)
