"""The same access over gRPC: each call passes it before its handler sees it."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias

import grpc
from grpc_health.v1 import health

from services.gateway.access.access import Access, Presented, bearer
from services.gateway.access.audit import target_of
from services.gateway.refusals import GRPC_STATUS, Refusal

# A stream that goes on is looked at so often: whether its caller is still let in.
LOOK_SECONDS = 5.0
# Probes have no token.
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
                with self._access.admitted(_presented(context), action, target_of(request)):
                    return await inner(request, context)
            except Refusal as refusal:
                return await context.abort(*_status(refusal))

        return admitted

    def _many(self, action: str, inner: Any) -> Callable[..., Any]:
        async def admitted(request: Any, context: Context) -> AsyncIterator[Any]:
            presented, looked = _presented(context), time.monotonic()
            try:
                with self._access.admitted(presented, action, target_of(request)) as call:
                    call.streamed = True
                    async with aclosing(inner(request, context)) as messages:
                        async for message in messages:
                            yield message
                            if time.monotonic() - looked > LOOK_SECONDS:
                                looked = time.monotonic()
                                self._access.check(presented)
            except Refusal as refusal:
                await context.abort(*_status(refusal))

        return admitted


def _status(refusal: Refusal) -> tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]]:
    pushback = ("grpc-retry-pushback-ms", str(int(refusal.retry_after * 1_000)))
    return grpc.StatusCode[GRPC_STATUS[refusal.code]], refusal.message, (pushback,) if refusal.retry_after else ()


def _presented(context: Context) -> Presented:
    metadata = dict(context.invocation_metadata() or ())
    names = list(context.auth_context().get("x509_common_name", ()))
    return Presented(
        address=_host(context.peer()),
        token=bearer(str(metadata.get("authorization", ""))),
        certificate=names[0].decode("utf-8", "replace") if names else "",
    )


def _host(peer: str) -> str:
    """Of "ipv4:127.0.0.1:50051" and "ipv6:%5B::1%5D:50051"."""
    return peer.partition(":")[2].rpartition(":")[0].replace("%5B", "").replace("%5D", "").strip("[]")
