"""Admits gRPC calls before their handlers see them."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias

import grpc
from grpc_health.v1 import health

from services.gateway.access.access import Access, Credentials, bearer
from services.gateway.access.audit import target_of
from services.gateway.refusals import GRPC_STATUS, Refusal

# How often a stream's caller is checked again.
RECHECK_SECONDS = 5.0
# Health probes have no token.
_OPEN = f"/{health.SERVICE_NAME}/"

Context = grpc.aio.ServicerContext[Any, Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"


class AccessInterceptor(grpc.aio.ServerInterceptor):
    def __init__(self, access: Access) -> None:
        self._access = access

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        handler = await continuation(handler_call_details)
        if handler is None or handler_call_details.method.startswith(_OPEN):
            return handler
        action = handler_call_details.method.rpartition("/")[2]
        codec = (handler.request_deserializer, handler.response_serializer)
        if handler.unary_unary:
            return grpc.unary_unary_rpc_method_handler(self._one(action, handler.unary_unary), *codec)
        if handler.unary_stream:
            return grpc.unary_stream_rpc_method_handler(self._many(action, handler.unary_stream), *codec)
        return grpc.stream_stream_rpc_method_handler(self._many(action, handler.stream_stream), *codec)

    def _one(self, action: str, inner: Any) -> Callable[..., Any]:
        async def admitted(request: Any, context: Context) -> Any:
            try:
                with self._access.admit(_credentials(context), action, target_of(request)):
                    return await inner(request, context)
            except Refusal as refusal:
                return await context.abort(*_status(refusal))

        return admitted

    def _many(self, action: str, inner: Any) -> Callable[..., Any]:
        async def admitted(request: Any, context: Context) -> AsyncIterator[Any]:
            credentials, checked_at = _credentials(context), time.monotonic()
            try:
                with self._access.admit(credentials, action, target_of(request)) as call:
                    call.streamed = True
                    async with aclosing(inner(request, context)) as messages:
                        async for message in messages:
                            yield message
                            if time.monotonic() - checked_at > RECHECK_SECONDS:
                                checked_at = time.monotonic()
                                self._access.recheck(credentials)
            except Refusal as refusal:
                await context.abort(*_status(refusal))

        return admitted


def _status(refusal: Refusal) -> tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]]:
    pushback = ("grpc-retry-pushback-ms", str(int(refusal.retry_after * 1_000)))
    return grpc.StatusCode[GRPC_STATUS[refusal.code]], refusal.message, (pushback,) if refusal.retry_after else ()


def _credentials(context: Context) -> Credentials:
    metadata = dict(context.invocation_metadata() or ())
    names = list(context.auth_context().get("x509_common_name", ()))
    return Credentials(
        address=_host(context.peer()),
        token=bearer(str(metadata.get("authorization", ""))),
        certificate=names[0].decode("utf-8", "replace") if names else "",
    )


def _host(peer: str) -> str:
    """The address in "ipv4:127.0.0.1:50051" or "ipv6:%5B::1%5D:50051"."""
    return peer.partition(":")[2].rpartition(":")[0].replace("%5B", "").replace("%5D", "").strip("[]")
