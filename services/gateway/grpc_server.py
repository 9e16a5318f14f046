"""The gateway over gRPC: `RunService`, health and reflection on one address."""

import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from services.gateway.refusals import Refusal
from services.gateway.service import Gateway
from services.gateway.watching import Skipped
from soliloquy.runtime.grpc_server import GrpcServer
from soliloquy.v1 import gateway_pb2

SERVICE = gateway_pb2.DESCRIPTOR.services_by_name["RunService"]
MOST_REQUEST_BYTES = 64 * 1024
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

_log = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[Any, Any]


def server(
    gateway: Gateway,
    interceptors: Sequence[grpc.aio.ServerInterceptor],
    credentials: grpc.ServerCredentials | None,
) -> GrpcServer:
    """Expects one of the interceptors to turn a Refusal into its status."""
    handlers = {method.name: _handler(gateway, method.name) for method in SERVICE.methods}
    return GrpcServer(
        SERVICE.full_name,
        lambda server: server.add_registered_method_handlers(SERVICE.full_name, handlers),
        lambda: gateway.fault,
        most_bytes=MOST_REQUEST_BYTES,
        interceptors=interceptors,
        credentials=credentials,
    )


def method_name(rpc: str) -> str:
    """The gateway's method for an RPC: "GetRun" is `get_run`."""
    return _HUMP.sub("_", rpc).lower()


def _handler(gateway: Gateway, rpc: str) -> "grpc.RpcMethodHandler[Any, Any]":
    method = SERVICE.methods_by_name[rpc]
    call = getattr(gateway, method_name(rpc))
    codec = (GetMessageClass(method.input_type).FromString, _encoded)

    async def one(request: Message, context: Context) -> Message:
        try:
            answer: Message = await call(request)
            return answer
        except Refusal:
            raise
        except Exception as error:
            return await context.abort(*_failure(error))

    async def many(request: Message, context: Context) -> AsyncIterator[Message]:
        try:
            async with aclosing(call(request)) as answers:
                async for answer in answers:
                    # The contract has no message for it.
                    if not isinstance(answer, Skipped):
                        yield answer
        except Refusal:
            raise
        except Exception as error:
            await context.abort(*_failure(error))

    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(many, *codec)
    return grpc.unary_unary_rpc_method_handler(one, *codec)


def _encoded(message: Message) -> bytes:
    return message.SerializeToString()


def _failure(error: Exception) -> tuple[grpc.StatusCode, str]:
    _log.error("a call failed in the gateway itself", exc_info=error)
    return grpc.StatusCode.INTERNAL, "the gateway failed: see its log"
