"""The echo on grpc.aio alone, beside the one through Ray Serve: prints its port, and ends with its input."""

import asyncio
import sys

import grpc
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.model_pb2_grpc import ModelServiceServicer, add_ModelServiceServicer_to_server

from services.model.answering import whole
from services.model.bench.echo import Echo


class _Calls(ModelServiceServicer):
    def __init__(self) -> None:
        self._echo = Echo()

    async def Generate(self, request: GenerateRequest, _: object) -> Completion:
        return await whole(self._echo.stream(request))


async def main() -> None:
    server = grpc.aio.server()
    add_ModelServiceServicer_to_server(_Calls(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    asyncio.run(main())
