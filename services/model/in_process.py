"""Serves weights from a thread of this process, without Ray: for commands that need them for a while."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import grpc

from services.model.backend import ModelBackend
from services.model.engines.settings import EngineSettings
from services.model.errors import error_status
from services.model.handler import ModelHandler
from soliloquy.v1 import model_pb2 as pb
from soliloquy.v1.model_pb2_grpc import ModelServiceServicer, add_ModelServiceServicer_to_server

T = TypeVar("T")


class _Servicer(ModelServiceServicer):
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
async def serve_grpc(backend: ModelBackend) -> AsyncIterator[int]:
    """Serves the backend over gRPC and yields the port on 127.0.0.1."""
    server = grpc.aio.server()
    add_ModelServiceServicer_to_server(_Servicer(ModelHandler(backend)), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


@contextmanager
def serve_weights(base: Path) -> Iterator[str]:
    """Serves the weights and yields the address; raises EngineRefused if the folder holds no weights."""
    address, stopping = Future[str](), threading.Event()

    def serve() -> None:
        try:
            asyncio.run(_serve(base, address, stopping))
        except Exception as error:
            if address.done():
                raise
            address.set_exception(error)

    thread = threading.Thread(target=serve, name="model")
    thread.start()
    try:
        yield address.result()
    finally:
        stopping.set()
        thread.join()


async def _serve(base: Path, address: Future[str], stopping: threading.Event) -> None:
    from services.model.engines.chat import ChatBackend
    from services.model.engines.transformers.engine import TransformersEngine

    settings = EngineSettings(model=base)
    chat = ChatBackend(TransformersEngine(settings), settings)
    await chat.start()
    try:
        async with serve_grpc(chat) as port:
            address.set_result(f"127.0.0.1:{port}")
            await asyncio.to_thread(stopping.wait)
    finally:
        await chat.stop()


async def _answered(answer: Awaitable[T], context: Any) -> T:
    try:
        return await answer
    except Exception as error:
        status, line = error_status(error)
        await context.abort(status.code, line)
        raise
