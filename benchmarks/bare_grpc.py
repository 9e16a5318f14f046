"""Serves the echo engine on grpc.aio alone, to compare with Ray Serve; prints its port, and ends with its input."""

import asyncio
import sys

import grpc

from benchmarks.echo import Echo
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_services.model.backend import final_completion

_SERVICE = "soliloquy.v1.ModelService"


async def main() -> None:
    echo = Echo()

    async def generate(request: GenerateRequest, _: object) -> Completion:
        return await final_completion(echo.stream(request))

    method = grpc.unary_unary_rpc_method_handler(generate, GenerateRequest.FromString, Completion.SerializeToString)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Generate": method}),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    asyncio.run(main())
