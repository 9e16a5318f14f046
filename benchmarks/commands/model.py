"""`python -m benchmarks model`."""

import contextlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks.commands.tables import machine_line, rounds_line, show, spread, table, targets_table
from services.model.serving import CannotStart
from services.model.settings import ServingSettings
from soliloquy.runs.failure import Failure
from soliloquy.runtime.listening import CannotListen, listening

_NEEDED = ("ray", "torch", "transformers", "llguidance")


@click.command()
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1), help="Of which the median counts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def model(*, rounds: int, as_json: bool) -> None:
    """Measure the model service: what Ray Serve costs, and what is lost when replicas go.

    An echo tells the cost of a call, with grpc.aio alone beside it; a small model with random weights that of tokens,
    with the engine in this process beside it.
    """
    for library in _NEEDED:
        if find_spec(library) is None:
            raise Failure(f"{library} is not installed: pip install 'soliloquy[serve]'")
    from benchmarks.model.serving import measure

    try:
        # Ray tells on standard output which of its processes died.
        with Console(stderr=True).status("starting") as status, contextlib.redirect_stdout(sys.stderr):
            figures = measure(
                ServingSettings(grpc_port=_free_port(), http_port=_free_port()), rounds=rounds, tell=status.update
            )
    except (CannotStart, CannotListen) as error:
        raise Failure(str(error)) from error
    show(figures, _parts, as_json=as_json)


def _free_port() -> int:
    with listening("127.0.0.1:0") as listener:
        port: int = listener.getsockname()[1]
        return port


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    yield machine_line(figures["machine"])
    yield _echo(figures["echo"])
    yield targets_table(figures["targets"])
    yield rounds_line(figures["rounds"])


def _echo(measured: dict[str, Any]) -> Table:
    echo = table("1 KB over gRPC", "1 caller:\np50 ms", "\np99 ms", "16 callers:\nrequests/s", "\np99 ms")
    for name, figures in measured.items():
        one, many = figures["c1"], figures["c16"]
        echo.add_row(name, *(spread(part) for part in (one["p50_ms"], one["p99_ms"], many["rps"], many["p99_ms"])))
    return echo
