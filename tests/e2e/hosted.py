"""Endpoints to grow a dataset on: the stand-in for a hosted API, and a model service over gRPC."""

import asyncio
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.model_pb2_grpc import ModelServiceServicer, add_ModelServiceServicer_to_server

from services.cli.wiring import ModelSettings, scripted_model
from tests.e2e.runs import SOLILOQUY


@contextmanager
def fake(*options: str) -> Iterator[str]:
    """`soliloquy model fake` for as long as it is entered; its URL."""
    command = [SOLILOQUY, "model", "fake", "--http", "127.0.0.1:0", "--problems", "physics", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            said = process.stderr.readline()
            assert said.startswith("ready, for --model openai --base-url http://"), said
            yield said.split()[-1]
        finally:
            process.terminate()


class _Scripted(ModelServiceServicer):
    def __init__(self) -> None:
        self._model = scripted_model(ModelSettings(problems=["physics"]))

    def Generate(self, request: GenerateRequest, context: Any) -> Completion:
        return asyncio.run(self._model.generate(request))


@contextmanager
def model_service() -> Iterator[str]:
    """A `ModelService` over the scripted engine; its address."""
    server = grpc.server(ThreadPoolExecutor(4))
    add_ModelServiceServicer_to_server(_Scripted(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
