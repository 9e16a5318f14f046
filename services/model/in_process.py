"""Serves weights from a thread of this process, without Ray: for commands that need them for a while."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from soliloquy.v1.model_pb2_grpc import add_ModelServiceServicer_to_server
from soliloquy_services.model.backend import ModelBackend
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.handler import ModelHandler
from soliloquy_services.model.servicer import ModelServicer

if TYPE_CHECKING:
    from soliloquy_services.model.engines.chat import ChatBackend


@asynccontextmanager
async def serve_grpc(backend: ModelBackend) -> AsyncIterator[int]:
    """Serves the backend over gRPC and yields the port on 127.0.0.1."""
    server = grpc.aio.server()
    add_ModelServiceServicer_to_server(ModelServicer(ModelHandler(backend)), server)
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
    async with running_backend(EngineSettings(model=base)) as chat, serve_grpc(chat) as port:
        address.set_result(f"127.0.0.1:{port}")
        await asyncio.to_thread(stopping.wait)


@asynccontextmanager
async def running_backend(settings: EngineSettings) -> AsyncIterator["ChatBackend"]:
    """Starts the transformers engine, and stops it at the end."""
    from soliloquy_services.model.engines.chat import ChatBackend
    from soliloquy_services.model.engines.transformers.engine import TransformersEngine

    chat = ChatBackend(TransformersEngine(settings), settings)
    try:
        await chat.start()
        yield chat
    finally:
        await chat.stop()
