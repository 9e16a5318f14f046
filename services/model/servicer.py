"""The gRPC methods of `ModelService`, the same on Ray Serve and on a server of this process."""

from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import Any, TypeVar

from google.protobuf.message import Message

from soliloquy.v1 import model_pb2 as pb
from soliloquy.v1.model_pb2_grpc import ModelServiceServicer
from soliloquy_services.model.errors import error_status
from soliloquy_services.model.handler import ModelHandler

Answer = TypeVar("Answer", bound=Message)


class ModelServicer(ModelServiceServicer):
    """Ray Serve calls the methods by name, and passes the context by its parameter name."""

    def __init__(self, handler: ModelHandler) -> None:
        self._handler = handler

    async def Generate(self, request: pb.GenerateRequest, grpc_context: Any) -> pb.Completion:
        return await _answered(self._handler.generate(request, _caller(grpc_context)), grpc_context, pb.Completion())

    async def GenerateStream(self, request: pb.GenerateRequest, grpc_context: Any) -> AsyncGenerator[pb.Delta, None]:
        try:
            async with aclosing(self._handler.stream(request, _caller(grpc_context))) as deltas:
                async for delta in deltas:
                    yield delta
        except Exception as error:
            _refuse(error, grpc_context)

    async def LoadAdapter(self, request: pb.LoadAdapterRequest, grpc_context: Any) -> pb.LoadAdapterResponse:
        return await _answered(self._handler.load_adapter(request), grpc_context, pb.LoadAdapterResponse())

    async def UnloadAdapter(self, request: pb.UnloadAdapterRequest, grpc_context: Any) -> pb.UnloadAdapterResponse:
        return await _answered(self._handler.unload_adapter(request), grpc_context, pb.UnloadAdapterResponse())

    async def ListAdapters(self, _: pb.ListAdaptersRequest, grpc_context: Any) -> pb.ListAdaptersResponse:
        return self._handler.list_adapters()

    async def Info(self, _: pb.InfoRequest, grpc_context: Any) -> pb.ModelInfo:
        return self._handler.info()


async def _answered(answer: Awaitable[Answer], grpc_context: Any, nothing: Answer) -> Answer:
    """Sets the status on the context: Ray Serve would turn an exception into INTERNAL and log it twice."""
    try:
        return await answer
    except Exception as error:
        _refuse(error, grpc_context)
        return nothing


def _refuse(error: Exception, grpc_context: Any) -> None:
    status, line = error_status(error)
    grpc_context.set_code(status.code)
    grpc_context.set_details(line)


def _caller(grpc_context: Any) -> str:
    return str(dict(grpc_context.invocation_metadata()).get("traceparent", ""))
