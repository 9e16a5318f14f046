"""The gateway over gRPC: `RunService`, health and reflection on one address, for callers who are admitted."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import unquote

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health

from soliloquy.runtime.grpc_server import GrpcServer
from soliloquy.v1 import gateway_pb2
from soliloquy_services.gateway.access.access import REFUSAL_SECONDS, Access, Credentials, bearer, target_of
from soliloquy_services.gateway.refusals import Code, Refusal, answered
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.watching import Skipped

SERVICE = gateway_pb2.DESCRIPTOR.services_by_name["RunService"]
MOST_REQUEST_BYTES = 64 * 1024
# Calls of one connection, more than the two hundred watchers that one caller may bring back at once.
MOST_STREAMS = 256
# Calls that wait to be taken up. gRPC cancels everyone's while there are more, a thousand unless told otherwise.
MOST_PENDING = 10_000
# Calls of strangers that wait for their refusal, as over HTTP; more are refused at once.
MOST_WAITING = 5_000
# A client opens another connection for its next call.
IDLE_MILLISECONDS = 300_000
HANDSHAKE_MILLISECONDS = 10_000
# How often a stream's caller is checked again.
RECHECK_SECONDS = 5.0
# Health probes have no token.
_OPEN = f"/{health.SERVICE_NAME}/"
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

_log = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[Any, Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


def server(
    gateway: Gateway, access: Access, credentials: grpc.ServerCredentials | None, most_connections: int
) -> GrpcServer:
    handlers = {method.name: _handler(gateway, method) for method in SERVICE.methods}
    return GrpcServer(
        SERVICE.full_name,
        lambda server: server.add_registered_method_handlers(SERVICE.full_name, handlers),
        lambda: gateway.fault,
        most_bytes=MOST_REQUEST_BYTES,
        options=(
            ("grpc.max_allowed_incoming_connections", most_connections),
            ("grpc.server_handshake_timeout_ms", HANDSHAKE_MILLISECONDS),
            ("grpc.max_connection_idle_ms", IDLE_MILLISECONDS),
            ("grpc.max_concurrent_streams", MOST_STREAMS),
            ("grpc.server.max_pending_requests", MOST_PENDING),
            ("grpc.server.max_pending_requests_hard_limit", MOST_PENDING),
        ),
        interceptors=[_AccessInterceptor(access)],
        credentials=credentials,
    )


def method_name(rpc: str) -> str:
    """The gateway's method for an RPC: "GetRun" is `get_run`."""
    return _HUMP.sub("_", rpc).lower()


def _handler(gateway: Gateway, method: MethodDescriptor) -> Handler:
    """The interceptor awaits an answer, and iterates over a stream."""
    call = getattr(gateway, method_name(method.name))
    codec = (GetMessageClass(method.input_type).FromString, GetMessageClass(method.output_type).SerializeToString)
    make = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    return make(lambda request, _: call(request), *codec)


class _AccessInterceptor(grpc.aio.ServerInterceptor):
    """Admits calls before their handlers see them, and answers what they raise with a status."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._waiting = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], "Awaitable[Handler | None]"],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        action = handler_call_details.method.rpartition("/")[2]
        # Requests come as bytes, so that callers are authenticated before anything is parsed.
        codec = (None, handler.response_serializer)
        parse = partial(_parsed, handler.request_deserializer)
        if handler_call_details.method.startswith(_OPEN):
            make = grpc.unary_unary_rpc_method_handler if handler.unary_unary else grpc.unary_stream_rpc_method_handler
            return make(_open_to_all(parse, handler.unary_unary or handler.unary_stream), *codec)
        if handler.unary_unary:
            return grpc.unary_unary_rpc_method_handler(self._one(action, parse, handler.unary_unary), *codec)
        if handler.unary_stream:
            return grpc.unary_stream_rpc_method_handler(self._many(action, parse, handler.unary_stream), *codec)

        async def parse_each(requests: AsyncIterator[bytes]) -> AsyncIterator[Any]:
            async for request in requests:
                yield parse(request)

        return grpc.stream_stream_rpc_method_handler(self._many(action, parse_each, handler.stream_stream), *codec)

    def _one(self, action: str, parse: Callable[[bytes], Any], inner: Any) -> Callable[..., Any]:
        async def admitted(content: bytes, context: Context) -> Any:
            credentials = _credentials(context)
            try:
                await self._access.prepare(credentials)
                with self._access.admit(credentials, action) as call:
                    request = parse(content)
                    call.target = target_of(request)
                    async with answered():
                        return await inner(request, context)
            except Exception as error:
                return await self._abort(context, error)

        return admitted

    def _many(self, action: str, parse: Callable[[Any], Any], inner: Any) -> Callable[..., Any]:
        async def admitted(content: Any, context: Context) -> AsyncIterator[Any]:
            credentials = _credentials(context)
            try:
                await self._access.prepare(credentials)
                with self._access.admit(credentials, action) as call:
                    call.streamed = True
                    request = parse(content)
                    call.target = target_of(request)
                    messages = self._while_admitted(
                        inner(request, context), partial(self._access.recheck, credentials, call), context
                    )
                    async with aclosing(messages):
                        async for message in messages:
                            # A reader whose stream ends lists what it missed, and follows again.
                            if isinstance(message, Skipped):
                                return
                            yield message
            except Exception as error:
                await self._abort(context, error)

        return admitted

    async def _abort(self, context: Context, error: Exception) -> None:
        """Lets a stranger who calls too often wait: it would call again as soon as it has its answer."""
        too_many = isinstance(error, Refusal) and error.code is Code.TOO_MANY
        if too_many and self._waiting < MOST_WAITING and self._access.caller(_credentials(context)) is None:
            self._waiting += 1
            try:
                await asyncio.sleep(REFUSAL_SECONDS)
            finally:
                self._waiting -= 1
        await context.abort(*_status(error))

    async def _while_admitted(
        self, messages: AsyncGenerator[Any, None], recheck: Callable[[], None], context: Context
    ) -> AsyncGenerator[Any, None]:
        """Checks the caller again before each message, and while none comes."""
        coming = asyncio.ensure_future(anext(messages))
        try:
            # Tells the caller that it follows: what it lists after this and what it is sent leave no gap.
            await asyncio.sleep(0)
            await context.send_initial_metadata(())
            while True:
                await asyncio.wait({coming}, timeout=RECHECK_SECONDS)
                recheck()
                if coming.done():
                    yield coming.result()
                    coming = asyncio.ensure_future(anext(messages))
        except StopAsyncIteration:
            return
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
            await messages.aclose()


def _open_to_all(parse: Callable[[bytes], Any], inner: Any) -> Callable[..., Any]:
    async def answer(content: bytes, context: Context) -> Any:
        try:
            request = parse(content)
        except Refusal as refusal:
            await context.abort(*_status(refusal))
        # The stream of health writes to its context.
        return await inner(request, context)

    return answer


def _parsed(parse: Callable[[bytes], Any] | None, content: bytes) -> Any:
    try:
        return parse(content) if parse else content
    except DecodeError as error:
        raise Refusal(Code.INVALID, f"the request cannot be decoded ({error}): send the method's message") from error


def _status(error: Exception) -> tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]]:
    if not isinstance(error, Refusal):
        _log.error("a call failed in the gateway itself", exc_info=error)
        return grpc.StatusCode.INTERNAL, "the gateway failed: see its log", ()
    pushback = ("grpc-retry-pushback-ms", str(int(error.retry_after * 1_000)))
    return grpc.StatusCode[error.code.grpc_status], error.message, (pushback,) if error.retry_after else ()


def _credentials(context: Context) -> Credentials:
    metadata = dict(context.invocation_metadata() or ())
    names = list(context.auth_context().get("x509_common_name", ()))
    return Credentials(
        address=_address(context.peer()),
        token=bearer(str(metadata.get("authorization", ""))),
        certificate=names[0].decode("utf-8", "replace") if names else "",
    )


def _address(peer: str) -> str:
    """Parses "ipv4:127.0.0.1:50051" and "ipv6:%5B::1%5D:50051"."""
    return unquote(peer.partition(":")[2]).rpartition(":")[0].strip("[]")
