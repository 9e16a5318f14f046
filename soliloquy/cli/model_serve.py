"""`soliloquy model serve`: a model on Ray Serve, over gRPC and HTTP."""

import contextlib
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

import click

from services.model.backend import ModelBackend, ScriptedBackend
from services.model.engines.engine import EngineRefused
from services.model.engines.settings import EngineSettings
from services.model.engines.weights import check_base, read_adapter
from services.model.serving import CannotStart, deploy, serving
from services.model.settings import ServingSettings
from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.durations import DURATION
from soliloquy.cli.observing import observing
from soliloquy.cli.service_options import SCRIPTED, with_options
from soliloquy.runs.failure import Failure
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.listening import CannotListen, listening
from soliloquy.runtime.traces.opening import CannotTrace, recorded
from soliloquy.runtime.traces.settings import TraceSettings
from soliloquy.v1.model_pb2 import Adapter

_DEFAULTS = ServingSettings()
_SCRIPTED = "scripted"
VLLM = "vllm"
_SERVE = "pip install 'soliloquy[serve]'"
# What each engine of weights imports, and how one comes by it.
_LIBRARIES = {
    "transformers": {"torch": _SERVE, "transformers": _SERVE},
    VLLM: {"vllm": "pip install 'soliloquy[vllm]' on a machine with a GPU"},
}


def _adapters(_: click.Context, __: click.Parameter, listed: Sequence[str]) -> dict[str, str]:
    adapters = {}
    for each in listed:
        name, _equals, path = each.partition("=")
        if not name or not path:
            raise click.BadParameter(f"{each!r} is no adapter: write NAME=PATH")
        if name in adapters:
            raise click.BadParameter(f"{name!r} is there twice: give each adapter a name of its own")
        adapters[name] = str(Path(path).resolve())
    return adapters


@click.command()
@click.option(
    "--engine",
    default=_SCRIPTED,
    show_default=True,
    type=click.Choice([_SCRIPTED, *_LIBRARIES]),
    help="What answers.",
)
@click.option(
    "--model",
    "weights",
    metavar="PATH",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="The folder of the model's weights and tokenizer; the scripted engine has none.",
)
@click.option(
    "--adapter",
    "adapters",
    multiple=True,
    metavar="NAME=PATH",
    callback=_adapters,
    help="A LoRA adapter that requests may name; may be given several times.",
)
@click.option(
    "--grpc",
    default="127.0.0.1:9000",
    show_default=True,
    metavar="HOST:PORT",
    type=ADDRESS,
    help="Port 0 takes any that is free.",
)
@click.option(
    "--http",
    default="127.0.0.1:8000",
    show_default=True,
    metavar="HOST:PORT",
    type=ADDRESS,
    help="Of OpenAI's routes; on the same host.",
)
@click.option("--replicas", type=click.IntRange(min=1), help="So many, whatever the load.  [default: 1]")
@click.option("--min-replicas", type=click.IntRange(min=1), help="As many as the load asks for, from this number.")
@click.option("--max-replicas", type=click.IntRange(min=1), help="And up to this.")
@click.option("--gpus", type=click.FloatRange(min=0), help="Of each replica.  [default: 1 for vllm, else 0]")
@click.option(
    "--max-ongoing",
    default=_DEFAULTS.max_ongoing,
    show_default=True,
    type=click.IntRange(min=1),
    help="Requests with the engine of a replica at a time.",
)
@click.option(
    "--max-queued",
    default=_DEFAULTS.max_queued,
    show_default=True,
    type=click.IntRange(min=0),
    help="Requests that wait for a replica; further ones are refused.",
)
@click.option("--grace", default="20s", show_default=True, type=DURATION, help="For requests under way at the end.")
@with_options(SCRIPTED)
@observing("model")
def serve(
    *,
    engine: str,
    weights: Path | None,
    adapters: Mapping[str, str],
    grpc: str,
    http: str,
    replicas: int | None,
    min_replicas: int | None,
    max_replicas: int | None,
    gpus: float | None,
    max_ongoing: int,
    max_queued: int,
    grace: float,
    problems: Sequence[str],
    latency: float,
    noise: str,
    traces: TraceSettings,
) -> None:
    """Serve a model over gRPC and, for OpenAI's clients, over HTTP.

    An interrupt or a SIGTERM ends it, once the requests under way are answered. A SIGHUP replaces the replicas one
    after the other.

    There is neither encryption nor a password, and what serves the two addresses listens on further ports of all
    interfaces: on a machine that others reach, put a firewall or a network policy before it.
    """
    _check(engine, weights, adapters)
    _check_traces(traces)
    scripted = ModelSettings(problems=problems, latency=latency, noise=noise)
    least, most = _replicas(replicas, min_replicas, max_replicas)
    (host, grpc_port), (http_host, http_port) = _bindable(grpc), _bindable(http)
    if host != http_host:
        raise Failure(f"--grpc is on {host} and --http on {http_host}: Ray Serve binds both on one host")
    settings = ServingSettings(
        host=host,
        grpc_port=grpc_port,
        http_port=http_port,
        min_replicas=least,
        max_replicas=most,
        gpus=float(engine == VLLM) if gpus is None else gpus,
        max_ongoing=max_ongoing,
        max_queued=max_queued,
        grace=grace,
        adapters=adapters,
        traces=traces,
    )
    run(partial(answering, engine, weights, scripted), settings)


def run(build: Callable[[], ModelBackend], settings: ServingSettings) -> None:
    """Serves until it is told to end, and replaces its replicas whenever it is told to."""
    told: SimpleQueue[int] = SimpleQueue()
    own = sys.stdout
    try:
        # Ray tells on standard output which of its processes died.
        with contextlib.redirect_stdout(sys.stderr), serving(build, settings):
            # Only here: Ray has set handlers of its own.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda number, _: told.put(number))
            grpc, http = (f"{settings.host}:{port}" for port in (settings.grpc_port, settings.http_port))
            click.echo(f"serving on {grpc} (gRPC) and http://{http}/v1 (HTTP)", file=own)
            while told.get() == signal.SIGHUP:
                deploy(build, settings)
                click.echo("replicas replaced", file=own)
    except (CannotStart, CannotListen) as error:
        raise Failure(str(error)) from error


def answering(engine: str, weights: Path | None, scripted: ModelSettings) -> ModelBackend:
    """What a replica answers with; called in each of them, which alone imports what runs weights."""
    if weights is None:
        return ScriptedBackend(scripted_model(scripted))
    from services.model.engines.chat import ChatBackend

    settings = EngineSettings(model=weights)
    match engine:
        case "transformers":
            from services.model.engines.transformers.engine import TransformersEngine

            return ChatBackend(TransformersEngine(settings), settings)
        case _:
            from services.model.engines.vllm.engine import VllmEngine

            return ChatBackend(VllmEngine(settings), settings)


def _check(engine: str, weights: Path | None, adapters: Mapping[str, str]) -> None:
    if engine == _SCRIPTED:
        if weights or adapters:
            raise Failure("the scripted engine has no weights: leave out --model and --adapter, or name another engine")
        return
    for library, remedy in _LIBRARIES[engine].items():
        if find_spec(library) is None:
            raise Failure(f"{library} is not installed: {remedy}")
    if weights is None:
        raise Failure(f"the {engine} engine needs weights: name their folder with --model")
    try:
        check_base(weights)
        for name, path in adapters.items():
            read_adapter(Adapter(name=name, path=path))
    except EngineRefused as error:
        raise Failure(str(error)) from error


def _check_traces(traces: TraceSettings) -> None:
    """Here, because what a replica raises is told after a minute."""
    try:
        recorded(traces)
    except CannotTrace as error:
        raise Failure(str(error)) from error


def _replicas(fixed: int | None, least: int | None, most: int | None) -> tuple[int, int]:
    if fixed is not None and (least or most):
        raise Failure("--replicas is a fixed number: leave it out, or --min-replicas and --max-replicas")
    least, most = (fixed, fixed) if fixed else (least or 1, most or least or 1)
    if least > most:
        raise Failure(f"--min-replicas is {least} and --max-replicas {most}: the first must not be the larger one")
    return least, most


def _bindable(address: str) -> tuple[str, int]:
    """Its host and a port that is free there."""
    try:
        with listening(address) as listener:
            return address.rpartition(":")[0], listener.getsockname()[1]
    except CannotListen as error:
        raise Failure(str(error)) from error
