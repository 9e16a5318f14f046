"""The model service for a Ray Serve configuration on a cluster: `soliloquy.cli.model_app:build`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from soliloquy.cli.model_serve import ENGINE_NAMES, backend
from soliloquy.cli.observing import endpoint
from soliloquy.problems.bank.bank import bank_names
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.traces.opening import TraceSettings

if TYPE_CHECKING:
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.settings import ServingSettings


class Args(BaseModel, extra="forbid"):
    """The `args` of the configuration; they mean the same as the options of `soliloquy model serve`."""

    engine: str = Field(pattern=rf"^({'|'.join(ENGINE_NAMES)})$")
    # The folder of the weights, at the same path on every node.
    model: Path | None = None
    adapters: Mapping[str, str] = {}
    min_replicas: int
    max_replicas: int
    # By default those that the engine uses.
    gpus: float | None = None
    # By default as many as its batch, and twice as many.
    target_ongoing: int | None = None
    max_ongoing: int | None = None
    max_queued: int
    # Settings of the engine, as in the file of `--engine-settings`.
    engine_settings: Mapping[str, Any] = {}
    grace: float
    traces: str = ""
    trace_share: float = 1.0


def build(args: Args) -> Any:
    """Returns the application; the cluster's own processes bind the addresses."""
    from soliloquy_services.model.app import application

    scripted = ModelSettings(problems=bank_names())
    return application(partial(backend, args.engine, engine_settings(args), scripted), serving_settings(args))


def engine_settings(args: Args) -> "EngineSettings | None":
    """Returns None for the scripted engine, which has none."""
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.settings import engine_values

    if args.model is None:
        return None
    return EngineSettings.model_validate(engine_values(args.engine, args.model, args.engine_settings))


def serving_settings(args: Args) -> "ServingSettings":
    from soliloquy_services.model.settings import ServingSettings, load, reserved_gpus

    settings = engine_settings(args)
    target, most = load(settings, args.target_ongoing, args.max_ongoing)
    return ServingSettings(
        adapters=args.adapters,
        min_replicas=args.min_replicas,
        max_replicas=args.max_replicas,
        gpus=reserved_gpus(args.engine, settings, args.gpus),
        target_ongoing=target,
        max_ongoing=most,
        max_queued=args.max_queued,
        grace=args.grace,
        traces=TraceSettings(url=endpoint(args.traces), share=args.trace_share),
    )
