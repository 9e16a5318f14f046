"""`soliloquy model serve`: serves a model on Ray Serve, over gRPC and HTTP."""

import contextlib
import signal
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.observing import observing
from soliloquy.cli.options import ADDRESS, EXISTING_FILE, RESOLVED_FOLDER, WORKERS, Choice, real, whole
from soliloquy.cli.service_options import GRACE, LATENCY, NOISE
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.extensions import Extensions, check_installed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.http_server import listening
from soliloquy.runtime.traces.opening import TraceSettings, recorded_traces
from soliloquy.runtime.validated_file import read_model
from soliloquy.v1.model_pb2 import Adapter

if TYPE_CHECKING:
    from soliloquy_services.model.backend import ModelBackend
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.settings import ServingSettings

_SCRIPTED = "scripted"
_VLLM = "vllm"
ENGINES = Extensions(
    "engine",
    "soliloquy.engines",
    lambda: [
        ("transformers", "soliloquy_services.model.engines.transformers.engine:TransformersEngine"),
        (_VLLM, "soliloquy_services.model.engines.vllm.engine:VllmEngine"),
    ],
)
ENGINE_NAMES = (_SCRIPTED, *ENGINES.claims)
# The extras of our engines, and the libraries in them.
_LIBRARIES = {"transformers": ("serve", "torch", "transformers"), _VLLM: ("vllm", "vllm")}


def _adapters(_: click.Context, __: click.Parameter, listed: Sequence[str]) -> dict[str, str]:
    adapters = {}
    for each in listed:
        name, _equals, path = each.partition("=")
        if not name or not path:
            raise click.BadParameter(f"{each!r} is not an adapter: use NAME=PATH")
        if name in adapters:
            raise click.BadParameter(f"duplicate adapter name {name!r}")
        adapters[name] = str(Path(path).resolve())
    return adapters


@click.command(cls=Command)
def serve(
    *,
    engine: str = setting("The engine that runs the model.", default=_SCRIPTED, type=Choice(ENGINE_NAMES)),
    weights: Path | None = setting(
        "The folder with weights and tokenizer; not for the scripted engine.",
        "--model",
        metavar="PATH",
        type=RESOLVED_FOLDER,
    ),
    adapters: Mapping[str, str] = setting(
        "A LoRA adapter that requests may name; may be repeated.",
        "--adapter",
        multiple=True,
        metavar="NAME=PATH",
        callback=_adapters,
    ),
    grpc: str = setting("Address for gRPC; port 0 picks a free port.", default="127.0.0.1:9000", type=ADDRESS),
    http: str = setting("Address for OpenAI's API, on the same host.", default="127.0.0.1:8000", type=ADDRESS),
    replicas: int = setting(
        "Replicas, or the fewest of them with --max-replicas: with 0 the first call starts one.",
        default=1,
        type=whole(0, WORKERS),
    ),
    max_replicas: int | None = setting("Scale with the load, up to this number of replicas.", type=whole(1, WORKERS)),
    gpus: float | None = setting(
        "GPUs of each replica.  [default: those that vllm uses, else 0]", type=real(0, WORKERS)
    ),
    engine_settings: Path | None = setting(
        "Settings of the engine, in TOML: batch, adapters, and a table [vllm].", type=EXISTING_FILE
    ),
    grace: float = GRACE,
    latency: float = LATENCY,
    noise: str = NOISE,
    traces: TraceSettings = observing("model"),
) -> None:
    """Serve a model over gRPC and, for OpenAI's clients, over HTTP.

    Ctrl-C or SIGTERM stops the service after the running requests are answered. SIGHUP replaces the replicas one after
    the other.

    The service has neither encryption nor authentication, and Ray listens on further ports of all interfaces. On a
    machine that others can reach, protect it with a firewall or a network policy.
    """
    from soliloquy_services.model.settings import ServingSettings, load, reserved_gpus

    chosen = _engine_settings(engine, weights, engine_settings)
    _check(engine, weights, adapters)
    # Fails at once; Ray would take a minute to report the same error in a replica.
    recorded_traces(traces)
    scripted = ModelSettings(latency=latency, noise=noise)
    if not (replicas or max_replicas):
        raise Failure("--replicas 0 requires --max-replicas: without it nothing would ever answer")
    if max_replicas and replicas > max_replicas:
        raise Failure(f"--replicas {replicas} is larger than --max-replicas {max_replicas}")
    (host, grpc_port), (http_host, http_port) = _bindable(grpc), _bindable(http)
    if host != http_host:
        raise Failure(f"--grpc {grpc} and --http {http} must be on the same host")
    target, most = load(chosen)
    settings = ServingSettings(
        host=host,
        grpc_port=grpc_port,
        http_port=http_port,
        min_replicas=replicas,
        max_replicas=max_replicas or replicas,
        gpus=reserved_gpus(engine, chosen, gpus),
        target_ongoing=target,
        max_ongoing=most,
        grace=grace,
        adapters=adapters,
        traces=traces,
    )
    run(partial(backend, engine, chosen, scripted), settings)


def run(build: "Callable[[], ModelBackend]", settings: "ServingSettings") -> None:
    """Serves until SIGINT or SIGTERM, and replaces the replicas on SIGHUP."""
    from soliloquy_services.model.serving import deploy, serving

    signals: SimpleQueue[int] = SimpleQueue()
    own_output = sys.stdout
    # Ray reports on standard output which of its processes died.
    redirected = contextlib.redirect_stdout(sys.stderr)
    with redirected, serving(build, settings):
        # Set after the start, since Ray sets handlers of its own.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: signals.put(number))
        grpc, http = (f"{settings.host}:{port}" for port in (settings.grpc_port, settings.http_port))
        click.echo(f"serving on {grpc} (gRPC) and http://{http}/v1 (HTTP)", file=own_output)
        while signals.get() == signal.SIGHUP:
            deploy(build, settings)
            click.echo("replicas replaced", file=own_output)


def backend(engine: str, settings: "EngineSettings | None", scripted: ModelSettings) -> "ModelBackend":
    """Returns what answers in a replica; called there, so that only replicas import the engines' libraries."""
    from soliloquy_services.model.backend import ScriptedBackend

    if settings is None:
        return ScriptedBackend(scripted_model(scripted))
    from soliloquy_services.model.engines.chat import ChatBackend

    return ChatBackend(ENGINES.load(engine, Callable)(settings), settings)


def _engine_settings(engine: str, weights: Path | None, file: Path | None) -> "EngineSettings | None":
    """Returns None for the scripted engine, which has none."""
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.settings import engine_values

    if file and engine == _SCRIPTED:
        raise Failure("--engine-settings cannot be used with the scripted engine: choose another --engine")
    if weights is None:
        return None
    if file is None:
        return EngineSettings(**engine_values(engine, weights, {}))
    return read_model(file, lambda text: engine_values(engine, weights, tomllib.loads(text)), EngineSettings)


def _check(engine: str, weights: Path | None, adapters: Mapping[str, str]) -> None:
    from soliloquy_services.model.engines.weights import check_base, read_adapter

    if engine == _SCRIPTED:
        if weights or adapters:
            raise Failure("--model and --adapter cannot be used with the scripted engine: choose another --engine")
        return
    if engine in _LIBRARIES:
        check_installed(*_LIBRARIES[engine])
    else:
        # Fails at once; a replica would report the same error after Ray has started.
        ENGINES.load(engine, Callable)
    if weights is None:
        raise Failure(f"--engine {engine} requires --model")
    check_base(weights)
    for name, path in adapters.items():
        read_adapter(Adapter(name=name, path=path))


def _bindable(address: str) -> tuple[str, int]:
    """Returns the host and a free port on it."""
    with listening(address) as listener:
        return address.rpartition(":")[0], listener.getsockname()[1]
