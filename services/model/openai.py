"""The HTTP routes that OpenAI's clients speak, beside the gRPC ones and over the same handler."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from prometheus_client import make_asgi_app
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from services.model.completions import ChatRequest
from services.model.engines.engine import InvalidRequest, UnknownAdapter
from services.model.errors import error_status
from services.model.handler import MAX_REQUEST_BYTES, ModelHandler
from services.model.shared_metrics import metrics_registry
from soliloquy.runtime.completions import LAST_EVENT, Answer, event, first_flaw, listed, told
from soliloquy.v1.model_pb2 import Delta

_RETRY_AFTER = {429: {"retry-after": "1"}, 503: {"retry-after": "1"}}


async def _nothing() -> None: ...


def application(handler: ModelHandler, stop: Callable[[], Awaitable[None]] = _nothing) -> Starlette:
    """`stop` is called when the server ends."""
    calls = _Calls(handler)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await stop()

    return Starlette(
        routes=[
            Route("/v1/chat/completions", calls.complete, methods=["POST"]),
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
        return JSONResponse({"object": "list", "data": [listed(name) for name in self._names()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            self._adapter(name)
        except UnknownAdapter as error:
            return _refused(error)
        return JSONResponse(listed(name))

    async def complete(self, request: Request) -> Response:
        try:
            chat = ChatRequest.model_validate_json(await _body(request))
            # Their clients send the same key when they try again.
            asked = chat.request(self._adapter(chat.model), request.headers.get("idempotency-key", ""))
            answer, caller = Answer(chat.model), request.headers.get("traceparent", "")
            if not chat.stream:
                return JSONResponse(answer.whole(await self._handler.generate(asked, caller)))
            deltas = self._handler.stream(asked, caller)
            # What is wrong with a request shows before its first piece, and is told by the status.
            events = _events(await anext(deltas), deltas, answer, usage=chat.wants_usage)
            return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        except ValidationError as error:
            return _refused(InvalidRequest(first_flaw(error)))
        except Exception as error:
            return _refused(error)

    def adapters(self) -> list[str]:
        return [adapter.name for adapter in self._handler.list_adapters().adapters]

    def _names(self) -> list[str]:
        return [self._handler.info().model, *self.adapters()]

    def _adapter(self, name: str) -> str:
        """Empty for the base model."""
        base, *adapters = self._names()
        if name == base:
            return ""
        if name not in adapters:
            raise UnknownAdapter(f"the model {name!r} does not exist; there are: {', '.join((base, *adapters))}")
        return name


async def _events(
    first: Delta, rest: AsyncGenerator[Delta, None], answer: Answer, *, usage: bool
) -> AsyncIterator[str]:
    """Server-sent events; what goes wrong on the way is the last of them."""
    async with aclosing(rest):
        try:
            yield event(answer.chunk({"role": "assistant", "content": first.text}))
            completion = first.completion
            async for delta in rest:
                completion = delta.completion
                if delta.text:
                    yield event(answer.chunk({"content": delta.text}))
            yield event(answer.chunk({}, completion.finish))
            if usage:
                yield event(answer.usage(completion))
            yield LAST_EVENT
        except Exception as error:
            yield event(_told(error)[1])


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_REQUEST_BYTES:
            raise InvalidRequest(f"the request is too long: at most {MAX_REQUEST_BYTES} bytes are read")
    return bytes(body)


def _refused(error: Exception) -> Response:
    status, content = _told(error)
    return JSONResponse(content, status_code=status, headers=_RETRY_AFTER.get(status))


def _told(error: Exception) -> tuple[int, dict[str, Any]]:
    refused, line = error_status(error)
    return refused.http, told(refused.http, line, refused.name)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    line = f"{request.method} {request.url.path} is not offered: POST /v1/chat/completions and GET /v1/models are"
    return JSONResponse(told(error.status_code, line, ""), status_code=error.status_code)
