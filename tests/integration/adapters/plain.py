"""The model service's own handler and engine behind plain gRPC: one replica, without Ray."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import grpc
from soliloquy.v1 import model_pb2 as pb
from soliloquy.v1.model_pb2_grpc import ModelServiceServicer, add_ModelServiceServicer_to_server

from services.model.handler import ModelHandler
from services.model.refusals import refusal
from tests.integration.model.support import started

Answer = TypeVar("Answer")


class Plain(ModelServiceServicer):
    def __init__(self, handler: ModelHandler) -> None:
        self._handler = handler

    async def Generate(self, request: pb.GenerateRequest, context: Any) -> pb.Completion:
        return await _answered(self._handler.generate(request), context)

    async def GenerateStream(self, request: pb.GenerateRequest, context: Any) -> AsyncIterator[pb.Delta]:
        async for delta in self._handler.stream(request):
            yield delta

    async def LoadAdapter(self, request: pb.LoadAdapterRequest, context: Any) -> pb.LoadAdapterResponse:
        return await _answered(self._handler.load_adapter(request), context)

    async def UnloadAdapter(self, request: pb.UnloadAdapterRequest, context: Any) -> pb.UnloadAdapterResponse:
        return await _answered(self._handler.unload_adapter(request), context)

    async def ListAdapters(self, request: pb.ListAdaptersRequest, context: Any) -> pb.ListAdaptersResponse:
        return self._handler.list_adapters()

    async def Info(self, request: pb.InfoRequest, context: Any) -> pb.ModelInfo:
        return self._handler.info()


@asynccontextmanager
async def plain(base: Path) -> AsyncIterator[int]:
    """Its port."""
    async with started(base) as chat:
        server = grpc.aio.server()
        add_ModelServiceServicer_to_server(Plain(ModelHandler(chat)), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        yield port
        await server.stop(0)


async def _answered(answer: Awaitable[Answer], context: Any) -> Answer:
    try:
        return await answer
    except Exception as error:
        told, line = refusal(error)
        await context.abort(told.code, line)
        raise
