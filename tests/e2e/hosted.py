"""Endpoints to grow a dataset on: the stand-in for a hosted API, and a model service over gRPC."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import urlopen

import grpc

from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model import Model
from tests.e2e.runs import SOLILOQUY
from tests.unit.runtime.model.service import generating

# The endpoint of tests and benchmarks, and the one that users have.
ENDPOINT = (sys.executable, "-m", "benchmarks.endpoint")
MODEL_FAKE = (SOLILOQUY, "model", "fake")
_SETTINGS = """
[endpoints.hosted]
engine = "openai"
base_url = "{url}"
model = "scripted"
prompt_price = 2.0
completion_price = 8.0
cached_price = 0.5
"""


@contextmanager
def fake(*options: str, http: str = "127.0.0.1:0", command: Sequence[str] = ENDPOINT) -> Iterator[str]:
    """An endpoint for as long as it is entered; its URL."""
    command = [*command, "--http", http, *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            said = process.stderr.readline()
            assert said.startswith("ready, for --model openai --model-name scripted --base-url http://"), said
            yield said.split()[-1]
        finally:
            process.terminate()


def priced(folder: Path, url: str) -> str:
    """Writes settings of the endpoint with prices."""
    file = folder / "models.toml"
    file.write_text(_SETTINGS.format(url=url), "utf-8")
    return str(file)


def invoice(url: str) -> list[dict[str, Any]]:
    """The lines of what the endpoint billed."""
    with urlopen(f"{url}/invoice") as response:
        return list(json.load(response))


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


@contextmanager
def speaking(says: Callable[[str], str]) -> Iterator[str]:
    """An API that answers a prompt, all messages joined, as the function does; its URL."""

    def body(request: bytes) -> str:
        prompt = "\n".join(message["content"] for message in json.loads(request)["messages"])
        message = {"role": "assistant", "content": says(prompt)}
        return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}})

    with answering(200, body) as url:
        yield url


@contextmanager
def answering(
    status: int,
    body: str | Callable[[bytes], str],
    models: Sequence[str] = (),
    *,
    kind: str = "application/json",
) -> Iterator[str]:
    """An API that gives every call the same answer, or one by its request, and lists these models; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers["Content-Length"]))
            self._send(status, body if isinstance(body, str) else body(request))

        def do_GET(self) -> None:
            self._send(200, json.dumps({"data": [{"id": name} for name in models]}))

        def log_message(self, *_: object) -> None: ...

        def _send(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()


@contextmanager
def silent() -> Iterator[str]:
    """A server that accepts connections and answers nothing; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
