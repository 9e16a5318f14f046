"""`python -m benchmarks model`."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType

from benchmarks.command import AS_JSON, rounds_option, show, spread, status_line, table
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.http_server import listening
from soliloquy_services.model.settings import ServingSettings


@click.command()
@rounds_option(3)
@AS_JSON
def model(*, rounds: int, as_json: bool) -> None:
    """Measure the model service on Ray Serve.

    An echo engine shows the cost of a call, compared with grpc.aio alone. A small model with random weights shows
    the cost of tokens, compared with the same engine in this process. Then replicas are killed and replaced under
    load.
    """
    check_installed("serve", "ray", "torch", "transformers", "llguidance")
    from benchmarks.model_service import measure

    # Ray reports on standard output which of its processes died.
    with status_line() as tell, contextlib.redirect_stdout(sys.stderr):
        settings = ServingSettings(grpc_port=_free_port(), http_port=_free_port())
        figures = measure(settings, rounds=rounds, tell=tell)
    show(figures, tables, as_json=as_json)


def _free_port() -> int:
    with listening("127.0.0.1:0") as listener:
        port: int = listener.getsockname()[1]
        return port


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    echo = table("1 KB over gRPC", "1 caller:\np50 ms", "\np99 ms", "16 callers:\nrequests/s", "\np99 ms")
    for name, measured in figures["echo"].items():
        one, many = measured["c1"], measured["c16"]
        echo.add_row(name, *(spread(part) for part in (one["p50_ms"], one["p99_ms"], many["rps"], many["p99_ms"])))
    yield echo
