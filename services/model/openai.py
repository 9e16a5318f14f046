"""The HTTP routes for OpenAI clients, on the same handler as gRPC."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

from prometheus_client import make_asgi_app
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from soliloquy.runtime.completions import (
    LAST_EVENT,
    ChatResponse,
    CommonRequest,
    error_body,
    first_error,
    model_entry,
    sse,
)
from soliloquy.runtime.retry import Refused, Transient
from soliloquy.v1.model_pb2 import Delta
from soliloquy_services.model.engines.engine import InvalidRequest, UnknownAdapter
from soliloquy_services.model.errors import error_status
from soliloquy_services.model.handler import MAX_REQUEST_BYTES, ModelHandler
from soliloquy_services.model.openai_requests import ChatRequest, CompletionRequest
from soliloquy_services.model.shared_metrics import metrics_registry

AnyRequest = TypeVar("AnyRequest", bound=CommonRequest)

_RETRY_AFTER = {429: {"retry-after": "1"}, 503: {"retry-after": "1"}}


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
        exception_handlers={HTTPException: _no_route, **dict.fromkeys((Refused, Transient, Exception), _refused)},
        lifespan=lifespan,
    )


class _Calls:
    def __init__(self, handler: ModelHandler) -> None:
        self._handler = handler

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [model_entry(name) for name in self._names()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        self._adapter(name)
        return JSONResponse(model_entry(name))

    async def complete(self, request: Request) -> Response:
        chat = await _parsed(ChatRequest, request)
        # OpenAI's clients repeat the key when they retry.
        generate_request = chat.request(self._adapter(chat.model), request.headers.get("idempotency-key", ""))
        answer, caller = ChatResponse(chat.model), request.headers.get("traceparent", "")
        if not chat.stream:
            return JSONResponse(answer.whole(await self._handler.generate(generate_request, caller)))
        deltas = self._handler.stream(generate_request, caller)
        # An invalid request fails before its first piece, while the status can still be set.
        events = _events(await anext(deltas), deltas, answer, usage=chat.wants_usage)
        return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})

    async def complete_raw(self, request: Request) -> Response:
        asked = await _parsed(CompletionRequest, request)
        requests = asked.requests(self._adapter(asked.model), request.headers.get("idempotency-key", ""))
        caller = request.headers.get("traceparent", "")
        return JSONResponse(asked.response(await self._handler.generate_all(requests, caller)))

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


async def _parsed(kind: type[AnyRequest], request: Request) -> AnyRequest:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_REQUEST_BYTES:
            raise InvalidRequest(f"the request is above the limit of {MAX_REQUEST_BYTES} bytes")
    try:
        return kind.model_validate_json(bytes(body))
    except ValidationError as error:
        raise InvalidRequest(first_error(error)) from error


async def _refused(_: Request, error: Exception) -> Response:
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
