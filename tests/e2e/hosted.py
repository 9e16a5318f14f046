"""Endpoints to grow a dataset on: the stand-in for a hosted API, and a model service over gRPC."""

import asyncio
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc

from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model import Model
from tests.e2e.runs import SOLILOQUY
from tests.unit.runtime.model.service import generating


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


@contextmanager
def model_service(model: Model | None = None) -> Iterator[str]:
    """A `ModelService` over a model, or over the scripted engine; its address."""
    model = model or scripted_model(ModelSettings(problems=["physics"]))
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((generating(lambda request, _: asyncio.run(model.generate(request))),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
